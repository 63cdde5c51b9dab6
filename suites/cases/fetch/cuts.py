"""Readers cut off from a leader."""

from brokertrial.faults.kinds.cut import cut
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import after, at_op
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import SendAndRead


@case("fetch/cut-reader", guarantees=["ord-007", "fetch-015"], needs=["proxy"], detects=["M06"])
def a_reader_cut_off_goes_on_where_it_was():
    """A reader that is cut off from a leader and comes back MUST go on where it was, without skips or repeats."""
    return Trial(
        workload=SendAndRead(producers=3, idempotent=True, partitions=3, readers_=3),
        schedule=Windows(
            cut(
                client="*consumer-*",
                node="leader({topic},0)",
                begin=at_op(300),
                end=after("f1", "begin", delay_ms=2500),
            ),
        ),
    )
