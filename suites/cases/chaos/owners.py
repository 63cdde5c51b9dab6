"""Who owns what while a group changes all the time: told by SyncGroup, seen on the wire."""

from faults.kinds import drop_response
from faults.schedule import Windows
from suites.case import case
from suites.trial import Trial
from suites.workloads import GroupChurn


@case(
    "groups/one-owner-each",
    guarantees=["grp-001", "grp-007"],
    needs=["proxy"],
    apis={"JoinGroup": 0},
    fails_on=["M24a"],
)
def a_partition_has_one_owner_through_every_rebalance():
    """In each generation a partition MUST be told to one member alone, however often members come and go.

    Six members stay for half a second or so each, so that nearly every rebalance moves partitions among followers who
    had some before: an assignment of the generation before shows itself.
    """
    return Trial(
        workload=GroupChurn(members=6, partitions=12, stay_s=0.6),
        schedule=Windows(drop_response(api="Heartbeat", every=5, times=6)),
        length=3_000,
        longest_s=60.0,
    )
