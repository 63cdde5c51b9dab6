"""A topic that expires while its leader dies: nothing is deleted before its time."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.faults.kinds.kill import kill
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import after, at_op
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import ONE_AT_A_TIME, SendAndRead

SEGMENTS = (("segment.ms", "1000"), ("segment.jitter.ms", "0"))
EXPIRING = (*SEGMENTS, ("cleanup.policy", "delete"), ("retention.ms", "6000"))


@case(
    "retention/young-records-survive-a-kill",
    guarantee="ret-003",
    needs=["kill", "restart", "topic-settings"],
    detects=[edit_answer("responses[].partitions[].log_start_offset", add=900, api="Fetch", skip=200)],
)
def what_is_young_stays_though_a_leader_is_killed():
    """While old records expire a record younger than retention.ms MUST stay, though a leader is killed meanwhile.

    No reader follows the log: a reader that falls behind by more than the few seconds that records are kept is lost by
    right. The starts of the logs are asked for all along, and everything is read in the end. An older broker (3.6)
    looks for the first time half a minute after its start, so the trial lasts until something has expired.
    """
    return Trial(
        workload=SendAndRead(
            producers=3, partitions=2, readers_=0, configs=EXPIRING, rate=80.0, in_flight=ONE_AT_A_TIME
        ),
        schedule=Windows(kill("leader({topic},0)", begin=at_op(1_200), end=after("f1", "begin", delay_ms=500))),
        length=3_000,
        at_least_s=20.0,
        longest_s=100.0,
        log_starts_rise=2,
        settings=(("log.retention.check.interval.ms", 5_000),),
    )
