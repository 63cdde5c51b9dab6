"""Brokers that die, are paused or stop cleanly: what was acknowledged is still there, once."""

from brokertrial.faults.kinds.kill import kill
from brokertrial.faults.kinds.pause import pause
from brokertrial.faults.kinds.terminate import terminate
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import after, at_op
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import ONE_AT_A_TIME, SendAndRead


@case(
    "produce/acked-survive-a-kill",
    guarantees=["prod-002", "ord-005", "ord-006"],
    needs=["kill", "restart"],
    smoke=True,
    detects=["M02a"],
)
def what_was_acknowledged_survives_a_kill():
    """A record acknowledged by all in-sync replicas MUST still be there, at its offset, after the leader was killed."""
    return Trial(
        workload=SendAndRead(producers=4, idempotent=True, partitions=3, in_flight=ONE_AT_A_TIME),
        schedule=Windows(kill("leader({topic},0)", begin=at_op(600), end=after("f1", "begin", delay_ms=800))),
    )


@case(
    "produce/acked-survive-three-kills",
    guarantees=["prod-002", "ord-006"],
    needs=["kill", "restart"],
    detects=["M02a"],
)
def what_was_acknowledged_survives_every_leader_in_turn():
    """Acknowledged records MUST survive the kill of every leader in turn, each restarted before the next is killed."""
    return Trial(
        workload=SendAndRead(producers=4, idempotent=True, partitions=3, in_flight=ONE_AT_A_TIME),
        schedule=Windows(
            kill("leader({topic},0)", begin=at_op(400), end=after("f1", "begin", delay_ms=600)),
            kill("leader({topic},1)", begin=after("f1", "end", delay_ms=2500), end=after("f2", "begin", delay_ms=600)),
            kill("leader({topic},2)", begin=after("f2", "end", delay_ms=2500), end=after("f3", "begin", delay_ms=600)),
        ),
        longest_s=75.0,
    )


@case(
    "produce/acked-survive-a-stop",
    guarantees=["prod-018", "ord-006"],
    needs=["terminate", "restart"],
    detects=["M02b"],
)
def what_was_acknowledged_survives_an_orderly_stop():
    """A broker that is asked to stop MUST lose no record that it has acknowledged."""
    return Trial(
        workload=SendAndRead(producers=4, idempotent=True, partitions=3, in_flight=ONE_AT_A_TIME),
        schedule=Windows(
            terminate("leader({topic},0)", begin=at_op(600), end=after("f1", "begin", delay_ms=3000)),
        ),
        longest_s=60.0,
    )


@case("produce/frozen-leader", guarantees=["ord-001", "idem-006", "repl-015"], needs=["pause"], detects=["M09"])
def a_frozen_leader_forgets_and_doubles_nothing():
    """A leader that is paused for seconds and resumes MUST NOT lose, duplicate or reorder acknowledged records."""
    return Trial(
        workload=SendAndRead(producers=4, idempotent=True, partitions=3, in_flight=ONE_AT_A_TIME),
        schedule=Windows(pause("leader({topic},0)", begin=at_op(500), end=after("f1", "begin", delay_ms=4000))),
        longest_s=60.0,
    )
