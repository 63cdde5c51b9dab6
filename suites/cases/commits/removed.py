"""How committed offsets go: OffsetDelete, and the deletion of a topic (KIP-496, KAFKA-2000)."""

import struct

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import rebalance
from brokertrial.wire import errors

COMMITS = {"OffsetCommit": 2, "OffsetFetch": 2}


@case(
    "commits/deleted",
    guarantee="cmt-014",
    apis={**COMMITS, "OffsetDelete": 0, "JoinGroup": 0, "SyncGroup": 0},
    detects=[edit_answer("topics[].partitions[].error_code", set=0, api="OffsetDelete")],
)
def offsets_of_topics_in_use_are_not_deleted(wire, topic_of, group):
    """OffsetDelete MUST refuse a topic that a member subscribes to (86) and MUST delete the offsets of the others."""
    used, left = topic_of(what="used"), topic_of(what="left")
    wire.commit_all(group, {(used, 0): 5, (left, 0): 6}).must_succeed()
    rebalance(wire.member(group, protocols=[("range", _subscription(used))]))

    answer = wire.delete_offsets(group, [(used, 0), (left, 0)])
    codes = {row.name: [part.error_code for part in row.partitions] for row in answer.struct.topics}
    wanted = {used: [errors.GROUP_SUBSCRIBED_TO_TOPIC], left: [0]}
    answer.must(codes == wanted, f"the error codes are {codes}; they must be {wanted}", "topics")

    wire.committed(group, used).must_be(5)
    wire.committed(group, left).must_be(-1)


@case(
    "commits/gone-with-the-topic",
    guarantee="cmt-015",
    apis={**COMMITS, "CreateTopics": 2, "DeleteTopics": 1},
    detects=[edit_answer("groups[].topics[].partitions[].committed_offset", set=50, api="OffsetFetch")],
)
def a_topic_takes_its_offsets_with_it(wire, topic, group):
    """Deleting a topic SHOULD remove the offsets committed for it, so that one created again under its name has none.
    """
    wire.commit(group, topic, offset=50).must_succeed()
    wire.delete_topic(topic).must_succeed()
    wire.eventually(lambda: wire.committed(group, topic, version=_by_name(wire)).must_be(-1), within=15)


def _by_name(wire):
    """The newest version that names topics instead of giving their ids."""
    return min(9, max(wire.versions("OffsetFetch")))


def _subscription(topic):
    """What a consumer brings to JoinGroup: version 0, one topic, no user data."""
    name = topic.encode()
    return struct.pack(">hih", 0, 1, len(name)) + name + struct.pack(">i", -1)
