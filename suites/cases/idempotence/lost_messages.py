"""Messages of producers that get lost, doubled or late: the log must not show it."""

from brokertrial.faults.kinds.drop_request import drop_request
from brokertrial.faults.kinds.drop_response import drop_response
from brokertrial.faults.kinds.duplicate_request import duplicate_request
from brokertrial.faults.kinds.hold import hold
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import after
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import SendAndRead


@case(
    "idempotence/lost-ack",
    guarantees=["idem-006", "idem-002", "ord-003"],
    needs=["proxy"],
    smoke=True,
    detects=["M09"],
)
def a_retry_after_a_lost_ack_is_written_once():
    """A batch sent again because its answer was lost MUST be in the log exactly once, and in the order of sending."""
    return Trial(
        workload=SendAndRead(producers=4, idempotent=True, partitions=3),
        schedule=Windows(drop_response(api="Produce", every=7, times=20)),
    )


@case("idempotence/lost-request", guarantees=["idem-006", "ord-002"], needs=["proxy"], detects=["M05"])
def a_request_that_never_arrived_leaves_no_gap():
    """When a Produce is lost on its way and sent again, every acknowledged record MUST be in the log, in order."""
    return Trial(
        workload=SendAndRead(producers=4, idempotent=True, partitions=3),
        schedule=Windows(drop_request(api="Produce", every=9, times=15)),
    )


@case("idempotence/doubled-request", guarantees=["idem-002", "idem-006"], needs=["proxy"], detects=["M09"])
def a_request_that_arrives_twice_is_written_once():
    """A Produce of an idempotent producer that arrives twice MUST be in the log once."""
    return Trial(
        workload=SendAndRead(producers=4, idempotent=True, partitions=3),
        schedule=Windows(duplicate_request(api="Produce", every=5, times=60)),
    )


@case("idempotence/late-request", guarantees=["idem-006", "idem-003"], needs=["proxy"], detects=["M12"])
def a_request_that_arrives_late_is_not_written_again():
    """A Produce that arrives long after the client has sent it again MUST NOT be in the log a second time."""
    return Trial(
        workload=SendAndRead(producers=3, idempotent=True, partitions=2),
        schedule=Windows(
            hold(api="Produce", client="producer-1", skip=40, times=1, end=after("f1", "hit", delay_ms=4500)),
            hold(api="Produce", client="producer-2", skip=60, times=1, end=after("f2", "hit", delay_ms=4500)),
        ),
    )
