"""Answers that get lost: the client must send again without knowing whether it was heard."""

from faults.kinds import drop_response
from faults.schedule import Windows
from suites.case import case
from suites.trial import Trial
from suites.workloads import SendAndRead


@case("idempotence/lost-ack", guarantees=["idem-006", "idem-002", "ord-003"], needs=["proxy"], smoke=True)
def a_retry_after_a_lost_ack_is_written_once():
    """A batch sent again because its answer was lost MUST be in the log exactly once, and in the order of sending."""
    return Trial(
        workload=SendAndRead(producers=4, idempotent=True, partitions=3),
        schedule=Windows(drop_response(api="Produce", every=7, times=20)),
    )
