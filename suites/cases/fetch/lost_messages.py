"""Answers to readers that get lost: nothing is skipped."""

from brokertrial.faults.kinds.drop_response import drop_response
from brokertrial.faults.schedule import Windows
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import SendAndRead


@case("fetch/lost-answers", guarantees=["ord-007", "fetch-015"], needs=["proxy"], detects=["M06"])
def a_reader_that_asks_again_misses_nothing():
    """A reader whose Fetch answers get lost MUST still be given every record, in order and without repeats."""
    return Trial(
        workload=SendAndRead(producers=3, idempotent=True, partitions=3, readers_=3),
        schedule=Windows(drop_response(api="Fetch", every=15, times=15)),
    )
