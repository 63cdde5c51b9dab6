"""Producers whose requests arrive and whose answers are lost."""

from brokertrial.faults.kinds.cut import cut
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import after, at_op
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import SendAndRead


@case("idempotence/deaf-producer", guarantees=["idem-006", "idem-002"], needs=["proxy"], detects=["M09"])
def a_producer_that_is_heard_and_hears_nothing_writes_once():
    """A producer whose requests arrive while no answer comes back MUST find each record once, and in order."""
    return Trial(
        workload=SendAndRead(producers=3, idempotent=True, partitions=3),
        schedule=Windows(
            cut(
                client="*producer-*",
                node="leader({topic},0)",
                direction="answers",
                begin=at_op(300),
                end=after("f1", "begin", delay_ms=5000),  # after half of it the clients give up their connections
            ),
        ),
    )
