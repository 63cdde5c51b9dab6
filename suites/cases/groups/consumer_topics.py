"""What KIP-848 members are given when subscriptions and topics change: patterns, topics made later, topics dropped."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile
from brokertrial.wire import errors
from brokertrial.wire.messages import request

KIP_848 = {"ConsumerGroupHeartbeat": 1}
ON = {"group.version": 1}
BEAT = "ConsumerGroupHeartbeat"
WITHIN_S = 40


@case("groups/consumer-by-pattern", guarantees=["g848-016", "g848-013"], apis=KIP_848, features=ON, detects=["M24h"])
def a_pattern_brings_the_topics_that_it_matches(wire, topic_of, group):
    """A subscription by pattern MUST bring the partitions of every topic whose whole name it matches, also of one that
    is created later, and of no other; an invalid pattern MUST be refused (128).

    The pattern names two topics, of which the second does not exist yet, and a prefix of the name of a third.
    """
    topic = topic_of(partitions=2)
    later, longer = wire.name("later"), topic_of(what="beside")
    pattern = f"{topic}|{later}|{longer[:-1]}"
    joined = _beats_by_pattern(wire, group, pattern, {topic: 2})

    wire.create_topic(later, partitions=3).must_succeed()
    wire.await_topic(later)
    _beats_by_pattern(wire, group, pattern, {topic: 2, later: 3}, joined)
    broken = wire.ask(
        request(
            BEAT,
            group_id=group,
            member_id=wire.name("x"),
            member_epoch=0,
            rebalance_timeout_ms=60_000,
            subscribed_topic_regex="(",
            topic_partitions=[],
        ),
        to=wire.coordinator(group),
    )
    broken.must_be_refused(errors.INVALID_REGULAR_EXPRESSION)


@case(
    "groups/consumer-changes-its-topics",
    guarantees=["g848-005", "g848-013"],
    apis=KIP_848,
    features=ON,
    detects=["M24h"],
)
def a_member_that_changes_its_topics_is_given_those(wire, topic_of, group):
    """When a member subscribes to other topics, its partitions of those that it dropped MUST go to the members that
    still read them, and it MUST be assigned a share of the new ones, also of a topic that is created later.
    """
    old, new, later = topic_of(partitions=2), topic_of(partitions=2, what="new"), wire.name("later")
    one, two = ConsumerGroupMember(wire, group, old), ConsumerGroupMember(wire, group, old)
    for member in (one, two):
        member.beat().must_succeed()
    reconcile(one, two, partitions=2)

    two.topics = (new, later)
    two.beat(topics=[new, later], rebalance_timeout_ms=60_000).must_succeed()
    wire.until(
        lambda: _round(one, two) == ({(old, 0), (old, 1)}, {(new, 0), (new, 1)}),
        within=WITHIN_S,
        what="each of the two members owns the whole topic that it reads alone",
    )
    wire.create_topic(later).must_succeed()
    wire.await_topic(later)
    wire.until(
        lambda: _round(one, two)[1] == {(new, 0), (new, 1), (later, 0)},
        within=WITHIN_S,
        what="the member is given the topic that was made later",
    )


@case(
    "groups/consumer-reads-offsets",
    guarantee="g848-004",
    apis={**KIP_848, "OffsetFetch": 9, "OffsetCommit": 9},
    features=ON,
    detects=["M24f", edit_answer("groups[].error_code", set=0, api="OffsetFetch")],
)
def offsets_are_returned_to_members_as_they_are(wire, topic, group):
    """OffsetFetch that names a member MUST be refused for the whole group where its epoch is wrong (113) or the member
    unknown (25), and MUST be answered where its epoch is right, and where no member is named.
    """
    member = ConsumerGroupMember(wire, group, topic)
    member.beat()
    reconcile(member, partitions=len(wire.known_partitions(topic)))
    wire.commit(group, topic, offset=5, member_id=member.id, generation=member.epoch).must_succeed()

    def asked(member_id, epoch):
        row = {
            "group_id": group,
            "member_id": member_id,
            "member_epoch": epoch,
            "topics": [{"name": topic, "partition_indexes": [0]}],
        }
        return wire.ask(request("OffsetFetch", groups=[row]), to=wire.coordinator(group), version=9)

    asked(member.id, member.epoch + 1).must_be_refused(errors.STALE_MEMBER_EPOCH)
    asked(wire.name("stranger"), member.epoch).must_be_refused(errors.UNKNOWN_MEMBER_ID)
    for member_id, epoch in ((member.id, member.epoch), (None, -1)):
        asked(member_id, epoch).must_succeed().must_have("groups[0].topics[0].partitions[0].committed_offset", 5)
    for member_id, epoch, code in (("", -1, errors.UNKNOWN_MEMBER_ID), (member.id, -1, errors.STALE_MEMBER_EPOCH)):
        refused = wire.commit(group, topic, offset=9, member_id=member_id, generation=epoch)
        refused.must_be_refused(code)
    wire.committed(group, topic).must_be(5)


def _round(*members):
    for member in members:
        member.beat().must_succeed()
    return tuple(set(member.owned) for member in members)


def _beats_by_pattern(wire, group, pattern, wanted, joined=None):
    """Heartbeats of one member by pattern until it owns so many partitions of those topics; returns where it stands."""
    member = joined or {"id": wire.name("m"), "epoch": 0, "owned": {}}

    def owns():
        fields = {"rebalance_timeout_ms": 60_000, "subscribed_topic_regex": pattern} if not member["epoch"] else {}
        owned = [{"topic_id": uuid, "partitions": parts} for uuid, parts in sorted(member["owned"].items())]
        answer = wire.ask(
            request(
                BEAT,
                group_id=group,
                member_id=member["id"],
                member_epoch=member["epoch"],
                topic_partitions=owned,
                **fields,
            ),
            to=wire.coordinator(group),
        ).must_succeed()
        member["epoch"] = answer.struct.member_epoch
        if answer.struct.assignment is not None:
            member["owned"] = {
                row.topic_id: sorted(row.partitions) for row in answer.struct.assignment.topic_partitions
            }
        return member["owned"] == {wire.topic_id(name): list(range(count)) for name, count in wanted.items()}

    wire.until(owns, within=WITHIN_S, what=f"the member owns the {sum(wanted.values())} partitions that it asks for")
    return member
