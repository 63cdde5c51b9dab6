"""Readers whose leader dies: they continue where they were."""

from brokertrial.faults.kinds.kill import kill
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import after, at_op
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import ONE_AT_A_TIME, SendAndRead


@case(
    "fetch/readers-outlive-a-kill",
    guarantees=["ord-007", "fetch-002", "repl-011"],
    needs=["kill", "restart"],
    detects=["M06"],
)
def readers_go_on_after_the_leader_died():
    """Readers MUST go on after a leader was killed: nothing skipped, nothing twice, no offset with another record."""
    return Trial(
        workload=SendAndRead(producers=2, idempotent=True, partitions=3, readers_=4, in_flight=ONE_AT_A_TIME),
        schedule=Windows(kill("leader({topic},1)", begin=at_op(500), end=after("f1", "begin", delay_ms=1500))),
        checks=("log-recency",),
        longest_s=60.0,
    )
