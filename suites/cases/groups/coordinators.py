"""Groups whose coordinator dies, and groups whose members join and leave."""

from brokertrial.faults.kinds.drop_response import drop_response
from brokertrial.faults.kinds.kill import kill
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import after, at_op
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import GroupChurn


@case(
    "groups/churn-delivers-everything",
    guarantees=["grp-001", "cmt-005"],
    needs=["proxy"],
    apis={"JoinGroup": 0},
    smoke=True,
    detects=["M06"],
)
def a_group_misses_nothing_while_members_come_and_go():
    """While members join and leave, the group MUST be given every acknowledged record, in each partition's order."""
    return Trial(
        workload=GroupChurn(members=4, partitions=6, stay_s=0.8),
        schedule=Windows(drop_response(api="Heartbeat", every=3, times=8)),
        assignments=24,
    )


@case(
    "groups/coordinator-killed",
    guarantees=["grp-016", "grp-001", "cmt-005"],
    needs=["kill", "restart"],
    apis={"JoinGroup": 0},
    detects=["M06"],
)
def a_group_outlives_its_coordinator():
    """After the coordinator was killed the group MUST find its place again and be given every acknowledged record.

    Members go on coming and going for a while after it is back: a broker that starts in seconds would else see the end
    of the trial before the group has come together again.
    """
    return Trial(
        workload=GroupChurn(members=4, partitions=12, stay_s=0.8),
        schedule=Windows(kill("coordinator({group})", begin=at_op(500), end=after("f1", "begin", delay_ms=1000))),
        at_least_s=25.0,
        longest_s=60.0,
    )
