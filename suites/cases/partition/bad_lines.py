"""Lines that are there, and bad: reset, lossy; and partitions that wander."""

from brokertrial.faults.kinds.isolate import isolate
from brokertrial.faults.kinds.lose_packets import lose_packets
from brokertrial.faults.kinds.reset_connections import reset_connections
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import after, at_op
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import ONE_AT_A_TIME, SendAndRead

NEEDS = ["three-nodes", "leaders", "network", "proxy"]
BEGIN, END = at_op(600), after("f1", "begin", delay_ms=7_000)
SENDS = SendAndRead(producers=6, partitions=3, idempotent=True, in_flight=ONE_AT_A_TIME)


@case(
    "partition/connections-reset",
    guarantees=["repl-001", "idem-002", "prod-002"],
    needs=NEEDS,
    detects=["M34b"],
)
def a_leader_whose_connections_are_reset_loses_nothing():
    """Nothing that was acknowledged MUST be lost or doubled while each connection between the leader and other nodes is
    reset at once, and all of it MUST go on once they stand again.
    """
    return Trial(
        workload=SENDS,
        schedule=Windows(reset_connections("leader({topic},0)", begin=BEGIN, end=END)),
        at_least_s=10.0,
        longest_s=60.0,
    )


@case("partition/lost-packets", guarantees=["repl-001", "ord-003", "idem-002"], needs=NEEDS, detects=["M06"])
def a_leader_behind_a_bad_line_loses_nothing():
    """Nothing that was acknowledged MUST be lost, doubled or reordered while a third of the packets between the leader
    and the other nodes is lost.
    """
    return Trial(
        workload=SENDS,
        schedule=Windows(lose_packets("leader({topic},0)", percent=30, begin=BEGIN, end=END)),
        at_least_s=10.0,
        longest_s=60.0,
    )


@case(
    "partition/wandering",
    guarantees=["repl-001", "repl-010", "ord-003"],
    needs=NEEDS,
    detects=["M34b"],
)
def a_partition_that_wanders_loses_nothing():
    """Nothing that was acknowledged MUST be lost or reordered while each node in turn is cut off from the others."""
    return Trial(
        workload=SENDS,
        schedule=Windows(
            isolate("{node1}", begin=at_op(600), end=after("f1", "begin", delay_ms=6_000)),
            isolate("{node2}", begin=after("f1", "end", delay_ms=2_500), end=after("f2", "begin", delay_ms=6_000)),
            isolate("{node3}", begin=after("f2", "end", delay_ms=2_500), end=after("f3", "begin", delay_ms=6_000)),
        ),
        at_least_s=26.0,
        longest_s=90.0,
    )
