"""Members come and go, and answers of the coordinator get lost: everything is still delivered to the group."""

from faults.kinds import drop_response
from faults.schedule import Windows
from suites.case import case
from suites.trial import Trial
from suites.workloads import GroupChurn


@case("groups/churn-delivers-everything", guarantees=["grp-001", "cmt-005"], needs=["proxy"], apis={"JoinGroup": 0})
def a_group_misses_nothing_while_members_come_and_go():
    """While members join and leave, the group MUST be delivered every acknowledged record, in the order of each partition."""
    return Trial(
        workload=GroupChurn(members=3, partitions=4),
        schedule=Windows(drop_response(api="Heartbeat", every=3, times=8)),
    )
