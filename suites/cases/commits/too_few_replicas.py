"""Coordinators whose own log has too few replicas in sync to be written: clients are to try again."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._handing_over import ELSEWHERE
from brokertrial.suites.cases.replication._too_few import WITHIN_S, too_few_in_sync
from brokertrial.suites.probe import rebalance
from brokertrial.suites.probe.coordinator_writes import OFFSETS_TOPIC
from brokertrial.wire.messages import request

LONG_MS = 60_000


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
    spared = {nodes.of_group(group), nodes.of_group(other)}
    with too_few_in_sync(wire, nodes, OFFSETS_TOPIC, spared), wire.part("while a replica is missing"):
        wire.eventually(lambda: _must_be_refused(wire, topic, other, member, offset=1), within=WITHIN_S)
        _must_be_refused(wire, topic, other, member, offset=2)
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
