"""Brokers that answer with an error, before or after storing: producers ask again, the log stays right."""

from brokertrial.faults.kinds.error_after import error_after
from brokertrial.faults.kinds.error_instead import error_instead
from brokertrial.faults.schedule import Windows
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import SendAndRead


@case("idempotence/refused-then-sent-again", guarantees=["idem-006", "ord-002"], needs=["proxy"], detects=["M12"])
def a_refusal_before_the_append_leaves_nothing_behind():
    """A batch refused with NOT_LEADER_OR_FOLLOWER and sent again MUST be in the log once, and in order."""
    return Trial(
        workload=SendAndRead(producers=4, idempotent=True, partitions=3),
        schedule=Windows(error_instead("NOT_LEADER_OR_FOLLOWER", api="Produce", every=9, times=12)),
    )


@case(
    "idempotence/stored-but-answered-with-an-error",
    guarantees=["idem-002", "idem-006"],
    needs=["proxy"],
    detects=["M09"],
)
def a_timeout_after_the_append_is_followed_by_one_copy():
    """A batch that was appended although the answer said REQUEST_TIMED_OUT MUST be in the log once after the retry."""
    return Trial(
        workload=SendAndRead(producers=4, idempotent=True, partitions=3),
        schedule=Windows(error_after("REQUEST_TIMED_OUT", api="Produce", every=8, times=15)),
    )
