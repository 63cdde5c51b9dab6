"""Producers whose leader dies: a retry is recognised by the next leader."""

from brokertrial.faults.kinds.drop_response import drop_response
from brokertrial.faults.kinds.kill import kill
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import after, at_op
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import ONE_AT_A_TIME, SendAndRead


@case(
    "idempotence/dedup-survives-a-kill",
    guarantees=["idem-007", "idem-008"],
    needs=["kill", "restart", "proxy"],
    detects=["M11a"],
)
def a_retry_is_recognised_after_the_leader_died():
    """A batch whose answer was lost MUST be recognised as a duplicate by the next leader after the leader was killed.
    """
    return Trial(
        workload=SendAndRead(producers=4, idempotent=True, partitions=3, in_flight=ONE_AT_A_TIME),
        schedule=Windows(
            drop_response(api="Produce", begin=at_op(500), end=after("f2", "begin", delay_ms=50)),
            kill("leader({topic},0)", begin=after("f1", "hit", delay_ms=150), end=after("f2", "begin", delay_ms=1000)),
        ),
        longest_s=60.0,
    )
