"""What a KIP-848 group keeps and follows: static members, commits, restarts, topics, assignors."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe.admin import SET
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile
from brokertrial.wire import errors

KIP_848 = {"ConsumerGroupHeartbeat": 1}
ON = {"group.version": 1}
BEAT = "ConsumerGroupHeartbeat"
GROUP = 32


@case("groups/consumer-static-away", guarantee="g848-007", apis=KIP_848, features=ON, detects=["M24d"])
def a_static_consumer_that_is_away_keeps_its_partitions(wire, topic_of, group):
    """The partitions of a static member that leaves with epoch -2 MUST wait for it; a second holder MUST be refused
    (111).
    """
    topic = topic_of(partitions=2)
    one, two = (
        ConsumerGroupMember(wire, group, topic, instance_id="i-1"),
        ConsumerGroupMember(wire, group, topic, instance_id="i-2"),
    )
    one.beat()
    two.beat()
    reconcile(one, two, partitions=2)
    again = ConsumerGroupMember(wire, group, topic, instance_id="i-1")
    again.beat().must_be_refused(errors.UNRELEASED_INSTANCE_ID)

    one.leave(-2).must_have("member_epoch", -2)
    for _ in range(5):
        answer = two.beat()
        answer.must(len(two.owned) == 1, f"it now owns {two.indexes}; the other's partition is reserved", "assignment")
    again.beat().must_succeed()
    reconcile(again, two, partitions=2)
    wire.must(again.indexes == one.indexes, f"the member that came back owns {again.indexes}; it had {one.indexes}")


@case(
    "groups/consumer-commits-in-its-epoch",
    guarantee="g848-004",
    apis={**KIP_848, "OffsetCommit": 9, "OffsetFetch": 9},
    features=ON,
    detects=["M24f"],
)
def a_commit_in_a_wrong_member_epoch_is_refused(wire, topic_of, group):
    """A commit in a member epoch that never was MUST be refused with STALE_MEMBER_EPOCH, and change nothing."""
    topic = topic_of()
    one = ConsumerGroupMember(wire, group, topic)
    one.beat()
    reconcile(one, partitions=len(wire.known_partitions(topic)))
    wire.commit(group, topic, offset=5, member_id=one.id, generation=one.epoch).must_succeed()
    late = wire.commit(group, topic, offset=9, member_id=one.id, generation=one.epoch + 1)
    late.must_be_refused(errors.STALE_MEMBER_EPOCH)
    wire.committed(group, topic).must_be(5)


@case(
    "groups/consumer-survives-a-restart",
    guarantee="g848-011",
    apis={**KIP_848, "ConsumerGroupDescribe": 0},
    features=ON,
    needs=["kill", "restart"],
    detects=["M24g"],
)
def a_consumer_group_survives_its_coordinator(wire, nodes, topic_of, group):
    """Members, epochs and partitions of a group MUST be there again after a crash of its coordinator.

    Sessions are made long where the broker lets a group choose: members that are silent for longer may be expelled.
    """
    session_ms = int(wire.setting("group.consumer.session.timeout.ms") or 45_000)
    if wire.versions("IncrementalAlterConfigs"):
        longer = wire.change_configs(GROUP, group, [("consumer.session.timeout.ms", SET, "45000")])
        session_ms = session_ms if longer.struct.responses[0].error_code else 45_000
    topic = topic_of(partitions=4)
    one, two = ConsumerGroupMember(wire, group, topic), ConsumerGroupMember(wire, group, topic)
    one.beat()
    two.beat()
    reconcile(one, two, partitions=4)
    had = one.indexes, two.indexes

    silent_since = wire.now_ms()
    nodes.crash(nodes.of_group(group))
    answers = one.beat(), two.beat()
    if wire.now_ms() - silent_since > session_ms:
        wire.unclear("the coordinator was away for longer than a session lasts: its members may be expelled")
    for answer in answers:
        answer.must_succeed()
    reconcile(one, two, partitions=4)
    now = one.indexes, two.indexes
    wire.must(now == had, f"the members own {now} after the restart; it was {had}")


@case("groups/consumer-follows-topics", guarantee="g848-013", apis=KIP_848, features=ON, detects=["M24h"])
def a_group_follows_its_topics(wire, topic_of, group):
    """New partitions of a subscribed topic MUST come to the members by heartbeats alone."""
    topic = topic_of(partitions=2)
    one = ConsumerGroupMember(wire, group, topic)
    one.beat()
    reconcile(one, partitions=2)
    wire.create_partitions(topic, 5).must_succeed()
    reconcile(one, partitions=5)


@case(
    "groups/consumer-joins-with-nothing",
    guarantee="g848-008",
    apis=KIP_848,
    features=ON,
    detects=[edit_answer("error_code", set=0, api=BEAT, fields={"member_epoch": 0})],
)
def a_consumer_joins_without_partitions(wire, topic, group):
    """A member that joins with partitions of its own, or leaves out whether it has any, MUST be refused (42)."""
    one = ConsumerGroupMember(wire, group, topic)
    one.beat(epoch=0, owned=frozenset({(topic, 0)})).must_be_refused(errors.INVALID_REQUEST)
    said_nothing = wire.consumer_group_heartbeat(group, one.id, 0, topics=[topic], rebalance_timeout_ms=60_000)
    said_nothing.must_be_refused(errors.INVALID_REQUEST)
    one.beat(epoch=1).must_be_refused(errors.GROUP_ID_NOT_FOUND, errors.UNKNOWN_MEMBER_ID)


@case(
    "groups/consumer-assignors",
    guarantee="g848-009",
    apis=KIP_848,
    features=ON,
    detects=[edit_answer("error_code", set=0, api=BEAT, fields={"server_assignor": "nope"})],
)
def an_unknown_assignor_is_refused_and_range_gives_blocks(wire, topic_of, group):
    """A server assignor that does not exist MUST be refused with 112; uniform and range MUST be there.

    Range gives each of two members one half of six partitions, in one piece.
    """
    topic = topic_of(partitions=6)
    ConsumerGroupMember(wire, group, topic, assignor="nope").beat().must_be_refused(errors.UNSUPPORTED_ASSIGNOR)
    alone = ConsumerGroupMember(wire, wire.name("uniform"), topic, assignor="uniform")
    alone.beat()
    reconcile(alone, partitions=6)

    one, two = (
        ConsumerGroupMember(wire, group, topic, assignor="range"),
        ConsumerGroupMember(wire, group, topic, assignor="range"),
    )
    one.beat()
    two.beat()
    reconcile(one, two, partitions=6)
    halves = sorted([one.indexes, two.indexes])
    wire.must(halves == [[0, 1, 2], [3, 4, 5]], f"range gave {halves}; it must be one block each")
