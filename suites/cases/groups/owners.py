"""Who owns what while a group changes all the time: assigned by SyncGroup, seen on the wire."""

from brokertrial.faults.kinds.drop_response import drop_response
from brokertrial.faults.schedule import Windows
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import GroupChurn


@case(
    "groups/one-owner-each",
    guarantees=["grp-001", "grp-007"],
    needs=["proxy"],
    apis={"JoinGroup": 0},
    detects=["M24a"],
)
def a_partition_has_one_owner_through_every_rebalance():
    """In each generation a partition MUST be assigned to one member alone, however often members join and leave.

    Members come and go seldom enough that most rebalances find the group at rest, and each of the five stays through
    several: they move partitions among followers who had some before, and an assignment of the generation before is
    seen.
    """
    return Trial(
        workload=GroupChurn(members=5, partitions=12, stay_s=4),
        schedule=Windows(drop_response(api="Heartbeat", every=5, times=6)),
        length=9_000,
        at_least_s=14.0,
        assignments=40,
        longest_s=60.0,
    )
