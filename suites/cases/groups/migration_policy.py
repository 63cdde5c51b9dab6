"""Members of both protocols in one group, as group.consumer.migration.policy allows it (KIP-848)."""

import struct

from brokertrial.suites.case import case
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile
from brokertrial.wire import errors
from brokertrial.wire.messages import request

POLICY, BEAT = "group.consumer.migration.policy", "ConsumerGroupHeartbeat"
DISABLED, UPGRADE, DOWNGRADE, BOTH = "disabled", "upgrade", "downgrade", "bidirectional"
NOT_THIS_KIND = (errors.GROUP_ID_NOT_FOUND, errors.UNKNOWN_MEMBER_ID, errors.INCONSISTENT_GROUP_PROTOCOL)
PARTITIONS, WITHIN_S, LONG_MS, AWAY = 4, 30, 60_000, -2


def subscription(topic):
    """What a consumer brings to JoinGroup: version 0, one topic, no user data."""
    return struct.pack(">hi", 0, 1) + _text(topic) + struct.pack(">i", -1)


def assignment(topic, partitions):
    """What a leader gives a consumer: version 0, one topic, no user data."""
    head = struct.pack(">hi", 0, 1) + _text(topic) + struct.pack(">i", len(partitions))
    return head + b"".join(struct.pack(">i", each) for each in partitions) + struct.pack(">i", -1)


def _text(text):
    return struct.pack(">h", len(text.encode())) + text.encode()


class OldMember:
    """A classic member of type `consumer` in whatever kind of group: it joins again when it is called to."""

    def __init__(self, wire, group, topic, instance_id=None):
        brings = [("range", subscription(topic))]
        times = {"session_timeout_ms": LONG_MS, "rebalance_timeout_ms": LONG_MS}
        self.member = wire.member(group, f"old {group}", protocols=brings, instance_id=instance_id, **times)
        self.topic, self.given, self.in_place = topic, [], False

    def join(self):
        """Among members of KIP-848, where no member leads."""
        self.member.join().must_succeed()
        self._sync()

    def lead(self, partitions):
        self.member.join().must_succeed()
        self.member.sync({self.member.id: assignment(self.topic, partitions)}).must_succeed()

    def follow(self):
        """One sign of life, and what it calls for."""
        beat = self.member.heartbeat()
        if beat.error == errors.REBALANCE_IN_PROGRESS:
            self.join()
        elif not self.in_place:
            self._sync()
        else:
            beat.must_succeed()

    def _sync(self):
        synced = self.member.sync()
        self.in_place = synced.error != errors.REBALANCE_IN_PROGRESS
        if self.in_place:
            self.given = self._partitions(synced.must_succeed().assignment)

    def _partitions(self, given):
        if not given:
            return []
        count = struct.unpack_from(">i", given, 2)[0]
        if not count:
            return []
        at = 6 + 2 + struct.unpack_from(">h", given, 6)[0]
        size = struct.unpack_from(">i", given, at)[0]
        return sorted(struct.unpack_from(f">{size}i", given, at + 4))


@case(
    "groups/other-protocol-by-the-policy",
    guarantees=["g848-014", "g848-002", "g848-016"],
    apis={BEAT: 1, "ConsumerGroupDescribe": 0, "JoinGroup": 5, "SyncGroup": 3, "ListGroups": 5},
    features={"group.version": 1},
    needs=["chosen-settings", "started", "partitions", "terminate", "restart"],
    detects=["S03", "W16"],
)
def members_of_both_protocols_meet_as_the_policy_says(wire, topic_of, rng, nodes):
    """Where group.consumer.migration.policy allows it, classic members and those of KIP-848 MUST share a group, each
    partition with one owner; when the last of one kind leaves, the group changes to the other kind if the policy allows
    that. Where it does not, members of the other protocol MUST be refused and the group MUST go on as it was. An empty
    group may change in any case. A member that takes over an instance id has a subscription of its own.

    The policy of the brokers, `disabled`, and one that allows one way.
    """
    configured = wire.setting(POLICY)
    if configured is None:
        wire.not_applicable(f"the brokers do not return {POLICY}")
    topic, other = topic_of(partitions=PARTITIONS), topic_of(what="other")
    policies = [configured.lower()]
    if policies[0] != DISABLED:
        policies += [DISABLED, rng.choice((UPGRADE, DOWNGRADE))]
    for number, policy in enumerate(policies):
        if number:
            nodes.start_with({POLICY: policy})
            wire.await_topic(topic)
        for name, meeting in (
            ("a classic member comes", _classic_comes),
            ("a member of KIP-848 comes", _modern_comes),
            ("the group is empty", _empty_changes),
        ):
            with wire.part(f"{policy}: {name}"):
                meeting(wire, policy, topic)
        if policy == BOTH:
            with wire.part("the instance of one with a pattern is taken over"):
                _instance_taken_over(wire, topic, other)


def _classic_comes(wire, policy, topic):
    group = wire.name("g")
    modern = _settled_alone(wire, group, topic)
    epoch, old = modern.epoch, OldMember(wire, group, topic)
    if policy == DISABLED:
        old.member.join().must_be_refused(*NOT_THIS_KIND)
        modern.beat().must_have("member_epoch", epoch)
        _comes_while_all_are_away(wire, topic)
        return
    old.join()
    _share(wire, modern, old)
    modern.leave().must_succeed()
    after = "consumer" if policy == UPGRADE else "classic"
    wire.eventually(lambda: _must_be_of(wire, group, after), within=WITHIN_S)


def _comes_while_all_are_away(wire, topic):
    """A static member that left for a restart is of the group still: its partitions wait for it."""
    group = wire.name("g")
    away = _settled_alone(wire, group, topic, instance_id="i-2")
    had = away.indexes
    away.leave(AWAY).must_succeed()
    OldMember(wire, group, topic).member.join().must_be_refused(*NOT_THIS_KIND)
    back = ConsumerGroupMember(wire, group, topic, instance_id="i-2")
    back.beat().must_succeed()
    wire.must(back.indexes == had, f"it had {had} and is given {back.indexes}")


def _modern_comes(wire, policy, topic):
    group = wire.name("g")
    old, modern = OldMember(wire, group, topic), ConsumerGroupMember(wire, group, topic)
    old.lead(list(range(PARTITIONS)))
    if policy in (DISABLED, DOWNGRADE):
        modern.beat().must_be_refused(*NOT_THIS_KIND)
        old.member.heartbeat().must_succeed()
        old.member.sync().must_bring(assignment(topic, list(range(PARTITIONS))))
        return
    modern.beat().must_succeed()
    _must_be_of(wire, group, "consumer")
    _share(wire, modern, old)
    old.member.leave().must_succeed()
    reconcile(modern, partitions=PARTITIONS)
    _must_be_of(wire, group, "consumer")


def _empty_changes(wire, _, topic):
    group = wire.name("g")
    wire.commit(group, topic, offset=5).must_succeed()
    modern = _settled_alone(wire, group, topic)
    modern.leave().must_succeed()
    old = OldMember(wire, group, topic)
    old.lead([0])
    _must_be_of(wire, group, "classic")
    old.member.leave().must_succeed()
    wire.committed(group, topic).must_be(5)


def _instance_taken_over(wire, topic, other):
    """By a classic member with another topic: nothing of the pattern is left."""
    group, member_id = wire.name("g"), wire.name("m")
    stays = _settled_alone(wire, group, other)
    by_pattern = request(
        BEAT,
        group_id=group,
        member_id=member_id,
        instance_id="i-1",
        rebalance_timeout_ms=LONG_MS,
        subscribed_topic_regex=topic,
        topic_partitions=[],
    )
    wire.ask(by_pattern, to=lambda: wire.coordinator(group)).must_succeed()
    wire.eventually(lambda: _must_read(wire, group, {topic}), within=WITHIN_S)
    away = request(BEAT, group_id=group, member_id=member_id, instance_id="i-1", member_epoch=AWAY)
    wire.ask(away, to=lambda: wire.coordinator(group)).must_succeed()
    stays.beat().must_succeed()
    OldMember(wire, group, other, instance_id="i-1").member.join().must_succeed()
    row = _must_read(wire, group, {other})
    wire.must(not row.subscribed_topic_regex, f"it has the pattern {row.subscribed_topic_regex} of the one before")


def _must_read(wire, group, topics):
    """The static member is subscribed to these by name or pattern, and is to have partitions of no other."""
    asked = request("ConsumerGroupDescribe", group_ids=[group])
    answer = wire.ask(asked, to=lambda: wire.coordinator(group)).must_succeed()
    rows = [row for row in answer.struct.groups[0].members if row.instance_id == "i-1"]
    answer.must(len(rows) == 1, f"the group has {len(rows)} members with the instance id", "groups[0].members")
    found = {part.topic_name for part in rows[0].target_assignment.topic_partitions}
    named = {name for name in (*rows[0].subscribed_topic_names, rows[0].subscribed_topic_regex) if name}
    answer.must(named == topics, f"it is subscribed to {sorted(named)}; that must be {sorted(topics)}")
    answer.must(found <= topics, f"it is to have partitions of {sorted(found)}; it reads {sorted(topics)}")
    return rows[0]


def _settled_alone(wire, group, topic, **wishes):
    modern = ConsumerGroupMember(wire, group, topic, **wishes)
    modern.beat().must_succeed()
    reconcile(modern, partitions=len(wire.metadata(topic).must_succeed().struct.topics[0].partitions))
    return modern


def _share(wire, modern, old):
    """Half of the partitions each."""

    def shared():
        modern.beat().must_succeed()
        old.follow()
        both = sorted(modern.indexes + old.given)
        return both == list(range(PARTITIONS)) and len(old.given) == PARTITIONS // 2

    wire.until(shared, within=WITHIN_S, what="a member of each protocol owns half of the partitions")


def _must_be_of(wire, group, kind):
    listed = wire.list_groups(to=wire.coordinator(group), version=5).must_succeed()
    found = [row.group_type.lower() for row in listed.struct.groups if row.group_id == group]
    listed.must(found == [kind], f"the group is listed as {found}; it must be {kind}", "groups")
