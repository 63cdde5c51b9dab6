"""Groups that are listed while their coordinator reads what it must know of them."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.commits._long_log import PARTITIONS, commit_much
from brokertrial.suites.probe.coordinator_writes import make_coordinator_write
from brokertrial.suites.probe.core import COORDINATOR_BUSY
from brokertrial.wire import errors
from brokertrial.wire.messages import request

WITHIN_S = 60
READING = errors.COORDINATOR_LOAD_IN_PROGRESS


@case(
    "groups/listed-whole-while-read",
    guarantees=["grp-020", "cmt-004", "grp-016"],
    apis={"ListGroups": 0, "OffsetCommit": 2, "OffsetFetch": 2},
    needs=["partitions", "kill", "terminate", "restart"],
    detects=["B312"],
)
def a_list_is_whole_or_refused(wire, topic_of, group, nodes, rng):
    """ListGroups of a coordinator that reads its log, and answers for a group of that log with
    COORDINATOR_LOAD_IN_PROGRESS (14) before and after, MUST be refused with that too, and MUST NOT leave the group out;
    once the log is read it MUST list the group.

    A group that has committed the offsets of 300 partitions 240 times; its coordinator is stopped or killed, and asked
    again and again from then on.
    """
    topic = topic_of(partitions=PARTITIONS, replicas=1)
    commit_much(wire, group, topic)
    rng.choice((nodes.crash, nodes.stop_and_start))(nodes.of_group(group))

    wire.until(lambda: _looked_at(wire, group, topic), within=WITHIN_S, what="the coordinator has read its log")
    make_coordinator_write(wire, group)
    wire.eventually(lambda: _must_be_listed(wire, group), within=WITHIN_S)


def _looked_at(wire, group, topic):
    """Whether it is read; as long as it is not, what is listed meanwhile is looked at."""
    wire.forget_coordinator(group)
    node = wire.coordinator(group)
    before = _code(wire.committed(group, topic, retry=False))
    listed = wire.ask(request("ListGroups", states_filter=[]), to=node)
    code = _code(listed)
    after = _code(wire.committed(group, topic, retry=False))
    if before == after == READING:
        listed.must(
            code in COORDINATOR_BUSY or _names(listed, group),
            f"it is answered {errors.name(code)} without a group whose log the node is still reading",
            "error_code",
        )
    return not after


def _must_be_listed(wire, group):
    listed = wire.list_groups(to=wire.coordinator(group)).must_succeed()
    listed.must(_names(listed, group), "the group is left out", "groups")


def _names(listed, group):
    return group in [row.group_id for row in listed.struct.groups]


def _code(answer):
    answer.examined = True
    return answer.error
