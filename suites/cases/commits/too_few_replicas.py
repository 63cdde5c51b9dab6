"""Coordinators whose own log has too few replicas in sync to be written: clients are to try again."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._handing_over import ELSEWHERE
from brokertrial.suites.probe import rebalance
from brokertrial.suites.probe.admin import DELETE, SET, TOPIC
from brokertrial.suites.probe.coordinator_writes import OFFSETS_TOPIC
from brokertrial.wire.messages import request

COPIES, WITHIN_S, LONG_MS = "min.insync.replicas", 60, 60_000


@case(
    "commits/refused-while-replicas-are-missing",
    guarantees=["cmt-002", "grp-016"],
    apis={"OffsetCommit": 2, "OffsetFetch": 1, "JoinGroup": 1, "SyncGroup": 0, "IncrementalAlterConfigs": 0},
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    detects=["D85"],
)
def who_cannot_write_is_not_available(wire, group, topic, nodes):
    """While fewer replicas of the offsets topic are in sync than its min.insync.replicas, a commit MUST be refused as
    by a coordinator that is not available for the moment (14, 15, 16): clients know no other code there, and would give
    up. Once the replicas are back the last offset that was committed MUST be there, or the refused one, which may have
    been written when its time was up, and commits MUST be taken. Commits of a member and of nobody.
    """
    member, other = wire.member(group, "a", session_timeout_ms=LONG_MS), wire.name("g")
    rebalance(member)
    wire.commit(other, topic, offset=1).must_succeed()
    coordinator = nodes.of_group(group)
    dead = next(node for node in wire.nodes if node not in (coordinator, nodes.of_group(other), nodes.of(topic)))
    wire.change_configs(TOPIC, OFFSETS_TOPIC, [(COPIES, SET, "3")]).must_succeed()
    nodes.kill(dead)
    wire.until(lambda: _in_sync(wire, coordinator) == 2, within=WITHIN_S, what=f"node {dead} is in sync nowhere")
    with wire.part("while a replica is missing"):
        wire.eventually(lambda: _must_be_refused(wire, topic, other, member, offset=1), within=WITHIN_S)
        _must_be_refused(wire, topic, other, member, offset=2)
    nodes.start(dead)
    wire.until(lambda: _in_sync(wire, coordinator) == 3, within=WITHIN_S, what="all replicas are in sync")
    wire.change_configs(TOPIC, OFFSETS_TOPIC, [(COPIES, DELETE, None)]).must_succeed()
    found = wire.committed(other, topic)
    found.must(found.offset in (1, 2), f"the committed offset is {found.offset}; it must be 1, or 2, which was refused")
    wire.commit(other, topic, offset=3).must_succeed()
    wire.committed(other, topic).must_be(3)


def _must_be_refused(wire, topic, group, member, *, offset):
    row = {"name": topic, "topic_id": wire.topic_id(topic)}
    rows = [{**row, "partitions": [{"partition_index": 0, "committed_offset": offset}]}]
    of_nobody = request("OffsetCommit", group_id=group, topics=rows)
    of_member = request(
        "OffsetCommit",
        group_id=member.group,
        member_id=member.id,
        generation_id_or_member_epoch=member.generation,
        topics=rows,
    )
    for name, asked in ((group, of_nobody), (member.group, of_member)):
        answer = wire.ask(asked, to=lambda name=name: wire.coordinator(name))
        answer.must_be_refused(*ELSEWHERE)


def _in_sync(wire, asked):
    """The fewest in-sync replicas that a partition of the offsets topic has."""
    (row,) = wire.metadata(OFFSETS_TOPIC, to=asked).struct.topics
    return min(len(part.isr_nodes) for part in row.partitions)
