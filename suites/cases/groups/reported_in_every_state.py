"""What is reported of groups, several at once, in whichever state they are and in whichever version it is asked."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._asked_of_states import is_modern
from brokertrial.suites.cases.groups._reports_on_states import QUESTIONS, ReportAsker
from brokertrial.suites.cases.groups._states import STABLE, all_states, turns

APIS = {
    "JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3, "LeaveGroup": 3, "DescribeGroups": 4, "ListGroups": 4,
    "OffsetCommit": 7, "OffsetFetch": 8, "OffsetDelete": 0, "DeleteGroups": 0, "FindCoordinator": 4,
}  # fmt: skip
ASKED = 400


@case(
    "groups/told-in-every-state",
    guarantees=["grp-020", "g848-015", "cmt-014", "cmt-016", "prot-019"],
    apis=APIS,
    needs=["partitions"],
    detects=["U20", "U21", "U22", "U23", "U24"],
)
def each_of_several_groups_is_reported_as_it_is(wire, topic_of, rng):
    """Each of several groups MUST be reported as it is, and an error of one for it alone: in lists, once and where both
    filters match it, whatever else they name; in descriptions, one row for each name, with its state, protocol, epochs,
    and each member with its ids, metadata, subscription, owned and target partitions; in answers for offsets; and each
    key MUST have a coordinator, as often as it is named, unless its type is unknown (42). OffsetDelete MUST refuse
    topics that the group subscribes to (86), of either protocol.

    Up to twelve groups, one in each state, 400 drawn requests in drawn versions.
    """
    read, other, free = (topic_of(what=what) for what in ("read", "other", "free"))
    began_ms = wire.now_ms()
    groups = all_states(wire, rng, read, other, modern=is_modern(wire))
    for one in groups:
        if one.members and one.state == STABLE:
            one.commits(read, 7)
    asker = ReportAsker(wire, rng, (read, other, free), groups)
    for _ in turns(wire, began_ms, ASKED):
        asker.step(QUESTIONS)
