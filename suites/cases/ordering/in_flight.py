"""Requests in flight, slow answers: the order of sending is the order of the log."""

from brokertrial.faults.kinds.delay import delay
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import at_op
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import SendAndRead


@case("ordering/slow-answers", guarantees=["ord-001", "ord-003", "ord-007"], needs=["proxy"], detects=["M06"])
def slow_answers_change_no_order():
    """However slowly answers come, readers MUST see each partition in one order, without skips or repeats."""
    return Trial(
        workload=SendAndRead(producers=4, idempotent=True, partitions=3, rate=40.0),
        schedule=Windows(
            delay(60, jitter_ms=80, api="Produce", begin=at_op(200)),
            delay(40, jitter_ms=60, api="Fetch", begin=at_op(200)),
        ),
    )


@case(
    "ordering/pipelined-sends", guarantees=["ord-002", "ord-003"], needs=["proxy"], smoke=True, detects=["M05", "M01a"]
)
def pipelined_sends_are_appended_in_the_order_sent():
    """Pipelined Produce requests on one connection MUST be appended in the order sent, also without idempotence.

    Nothing is lost and no producer sends twice: any other order in the log is the broker's doing.
    """
    return Trial(
        workload=SendAndRead(producers=4, idempotent=False, retries=0, partitions=2, rate=400.0),
        schedule=Windows(delay(15, api="Produce")),
    )
