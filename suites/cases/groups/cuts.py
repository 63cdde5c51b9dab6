"""Members cut off from their coordinator."""

from brokertrial.faults.kinds.cut import cut
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import after, at_op
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import GroupChurn
from brokertrial.suites.workloads.group_churn import SESSION_S


@case(
    "groups/member-cut-off",
    guarantees=["grp-011", "grp-001", "cmt-005"],
    needs=["proxy"],
    apis={"JoinGroup": 0},
    detects=["M06", "M26"],
)
def the_partitions_of_a_member_cut_off_are_taken_over():
    """Partitions of a member that is cut off MUST go to another within two session timeouts, and the group MUST still
    be given every record.

    The other members stay, so that no rebalance but the one that the cut calls for hands anything over.
    """
    return Trial(
        workload=GroupChurn(members=3, partitions=6, stay_s=60),
        schedule=Windows(cut(client="*member-1*", begin=at_op(700), end=after("f1", "begin", delay_ms=13_500))),
        session_s=SESSION_S,
        observations=2,  # the hand-over of its two partitions
    )
