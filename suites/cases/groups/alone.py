"""A group without any membership change: its members keep what they were assigned."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import GroupChurn


@case(
    "groups/left-alone",
    guarantee="g848-005",
    needs=["proxy"],
    apis={"ConsumerGroupHeartbeat": 0},
    detects=[edit_answer("assignment.topic_partitions[0].partitions[0]", drop=True, api="ConsumerGroupHeartbeat")],
)
def a_group_at_peace_leaves_no_partition_alone():
    """While no member joins or leaves, every partition that the group reads MUST have an owner, all the time.

    An assignment is sent once and lasts: each partition is one observation, and four of them were too few to decide.
    """
    return Trial(
        workload=GroupChurn(members=2, partitions=12, stay_s=600, rate=40.0, protocol="consumer"),
        length=2_000,
        at_least_s=90.0,
        longest_s=120.0,
    )
