"""A group that all its members are cut off from at once, for so long that it has none left."""

from brokertrial.faults.kinds.cut import cut
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import after, all_of, any_of, at_op, elapsed, message
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import GroupChurn
from brokertrial.suites.workloads.group_churn import SESSION_S


@case(
    "groups/all-members-cut-off",
    guarantees=["cmt-005", "grp-001"],
    needs=["proxy"],
    apis={"JoinGroup": 0},
    detects=["M21e"],
)
def a_group_without_members_keeps_its_place():
    """A group whose members were all expelled MUST go on where it had committed once they are back, and be given every
    acknowledged record.

    They are cut off together, at the latest after 10 s, for longer than their sessions last and until much is written
    that they do not read.
    """
    return Trial(
        workload=GroupChurn(members=3, partitions=6, stay_s=600),
        schedule=Windows(
            cut(
                client="*member-*",
                begin=any_of(at_op(900), elapsed(10_000)),
                end=all_of(after("f1", "begin", delay_ms=1_500 * SESSION_S), message(400, api="Produce")),
            )
        ),
        at_least_s=20.0,
        longest_s=60.0,
    )
