"""KIP-848 groups whose topics and static members go and come back, and names that both protocols use in turn."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch, rebalance
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile
from brokertrial.wire import errors

KIP_848 = {"ConsumerGroupHeartbeat": 1}
ON = {"group.version": 1}
WITHIN_S = 40
CODE = "error_code"


@case(
    "groups/consumer-static-members-return",
    guarantees=["g848-007", "g848-002"],
    apis=KIP_848,
    features=ON,
    detects=["M24d", edit_answer(CODE, set=0, api="ConsumerGroupHeartbeat")],
)
def static_members_of_a_consumer_group_come_back_to_their_own(wire, topic_of, group):
    """Each of several static members that leaves for a while (-2) and comes back MUST be given its own partitions, and
    the others MUST keep theirs; a member that claims the instance of a present one MUST be refused (111), and one that
    leaves for good (-1) gives its partitions up.
    """
    topic = topic_of(partitions=6)
    members = [ConsumerGroupMember(wire, group, topic, instance_id=f"i-{n}") for n in range(3)]
    for member in members:
        member.beat().must_succeed()
    reconcile(*members, partitions=6)
    owned = [member.owned for member in members]
    for number in (1, 0):
        members[number].leave(epoch=-2).must_have("member_epoch", -2)
        for other in members:
            if other is not members[number]:
                other.beat().must_succeed()
        back = ConsumerGroupMember(wire, group, topic, instance_id=f"i-{number}")
        back.beat().must_succeed()
        members[number] = back
        ConsumerGroupMember(wire, group, topic, instance_id=f"i-{number}").beat().must_be_refused(
            errors.UNRELEASED_INSTANCE_ID
        )
    reconcile(*members, partitions=6)
    found = [member.owned for member in members]
    wire.must(found == owned, f"the members own {found}; before two of them were away it was {owned}")
    members[2].leave(epoch=-1).must_succeed()
    reconcile(*members[:2], partitions=6)


@case(
    "groups/consumer-topic-made-again",
    guarantees=["g848-013", "g848-005"],
    apis={**KIP_848, "DeleteTopics": 1, "CreateTopics": 5},
    features=ON,
    detects=["M24h"],
)
def a_topic_made_again_is_assigned_anew(wire, topic_of, group):
    """When a topic that a group reads is deleted its partitions MUST be taken from the members, which keep those of the
    others; when it is created again under its name, with another number of partitions, they MUST be assigned the new
    ones.
    """
    topic, other = topic_of(partitions=2), topic_of(partitions=2, what="other")
    one, two = ConsumerGroupMember(wire, group, topic, other), ConsumerGroupMember(wire, group, topic, other)
    for member in (one, two):
        member.beat().must_succeed()
    reconcile(one, two, partitions=4)
    wire.delete_topic(topic).must_succeed()
    unknown = errors.UNKNOWN_TOPIC_OR_PARTITION
    for node in wire.nodes:
        wire.eventually(
            lambda node=node: wire.metadata(topic, to=node).must_have("topics[0].error_code", unknown), within=20
        )
    for member in (one, two):
        member.topics = (other,)
        member.owned = frozenset(place for place in member.owned if place[0] == other)
    wire.until(
        lambda: _owned(one, two) == {(other, 0), (other, 1)},
        within=WITHIN_S,
        what="the members own the partitions of the topic that is left, and no other",
    )
    wire.create_topic(topic, partitions=3).must_succeed()
    wire.await_topic(topic)
    for member in (one, two):
        member.topics = (topic, other)
    wire.until(
        lambda: _owned(one, two) == {(other, 0), (other, 1), *((topic, n) for n in range(3))},
        within=WITHIN_S,
        what="the members own the three partitions of the topic that was made again",
    )


def _owned(*members):
    found = []
    for member in members:
        member.beat().must_succeed()
        found += member.owned
    return set(found) if len(found) == len(set(found)) else None


@case(
    "groups/both-protocols-in-turn",
    guarantees=["g848-014", "cmt-001", "grp-021"],
    apis={**KIP_848, "JoinGroup": 5, "SyncGroup": 3, "LeaveGroup": 3, "OffsetFetch": 7},
    features=ON,
    detects=["M21e", edit_answer("member_epoch", set=0, api="ConsumerGroupHeartbeat")],
)
def a_group_without_members_may_change_its_protocol(wire, topic_of, group):
    """A group whose members have all left MAY be joined with the other protocol, and MUST keep its offsets: what the
    classic members committed is returned to the new ones, and what those commit to later classic members.
    """
    topic = topic_of(partitions=2)
    classic = wire.member(group, "classic")
    rebalance(classic)
    classic.commit(topic, offset=5).must_succeed()
    classic.leave().must_succeed()

    consumer = ConsumerGroupMember(wire, group, topic)
    consumer.beat().must_succeed()
    reconcile(consumer, partitions=2)
    wire.committed(group, topic).must_be(5)
    classic.heartbeat().must_be_refused(errors.UNKNOWN_MEMBER_ID)
    sent = wire.commit(group, topic, offset=7, member_id=consumer.id, generation=consumer.epoch)
    sent.must_succeed()
    consumer.leave().must_have("member_epoch", -1)
    wire.committed(group, topic).must_be(7)

    again = wire.member(group, "again")
    rebalance(again)
    wire.committed(group, topic).must_be(7)
    consumer.beat(epoch=consumer.epoch).must_be_refused(errors.UNKNOWN_MEMBER_ID, errors.GROUP_ID_NOT_FOUND)
    again.commit(topic, offset=6).must_succeed()
    wire.committed(group, topic).must_be(6)


@case(
    "groups/consumer-three-lives",
    guarantees=["g848-003", "grp-021", "g848-004"],
    apis={**KIP_848, "DeleteGroups": 0, "OffsetCommit": 9, "OffsetFetch": 9},
    features=ON,
    detects=["M24e", "M24f"],
)
def nothing_of_a_consumer_group_passes_to_the_next(wire, topic_of, group):
    """Nothing of a KIP-848 group that was deleted MUST pass to the next of its name: neither offsets nor members, and
    each request of a former member is refused (25).
    """
    topic, before = topic_of(partitions=2), []  # type: ignore[var-annotated]
    for life in range(3):
        wire.committed(group, topic).must_be(-1)
        member = ConsumerGroupMember(wire, group, topic)
        member.beat().must_succeed()
        reconcile(member, partitions=2)
        wire.commit(group, topic, offset=life, member_id=member.id, generation=member.epoch).must_succeed()
        for old, epoch in before:
            old.beat(epoch=epoch).must_be_refused(errors.UNKNOWN_MEMBER_ID)
            late = wire.commit(group, topic, offset=99, member_id=old.id, generation=epoch)
            late.must_be_refused(errors.UNKNOWN_MEMBER_ID)
        member.beat(epoch=member.epoch + 3).must_be_refused(errors.FENCED_MEMBER_EPOCH)
        member.beat().must_succeed()
        early = wire.commit(group, topic, offset=99, member_id=member.id, generation=member.epoch + 3)
        early.must_be_refused(errors.STALE_MEMBER_EPOCH)
        wire.committed(group, topic).must_be(life)
        wire.delete_groups(group).must_be_refused(errors.NON_EMPTY_GROUP)
        before.append((member, member.epoch))
        member.leave().must_have("member_epoch", -1)
        wire.delete_groups(group).must_succeed()
    wire.produce(topic, batch("a")).must_be_at(0)
