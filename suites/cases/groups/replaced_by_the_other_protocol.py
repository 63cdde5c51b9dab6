"""A member of the other protocol takes the place of the last one of its kind (KIP-848), and reads other topics."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._old_clients import OldClient, go_on
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember
from brokertrial.wire import errors

POLICY = "group.consumer.migration.policy"
DISABLED, BOTH = "disabled", "bidirectional"
NOT_THIS_KIND = (errors.GROUP_ID_NOT_FOUND, errors.UNKNOWN_MEMBER_ID, errors.INCONSISTENT_GROUP_PROTOCOL)
REPLACED = (errors.FENCED_INSTANCE_ID, errors.UNKNOWN_MEMBER_ID)
WITHIN_S, AWAY, INSTANCE = 20, -2, "i-1"


@case(
    "groups/last-of-a-protocol-replaced",
    guarantees=["g848-014", "g848-002", "g848-005", "grp-010", "grp-015"],
    apis={"ConsumerGroupHeartbeat": 0, "JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3, "ListGroups": 5},
    features={"group.version": 1},
    needs=["partitions"],
    detects=["W16", "B135", edit_answer("assignment", set="", api="SyncGroup")],
)
def who_takes_the_last_ones_place_is_given_what_it_reads(wire, topic_of, rng):
    """Where group.consumer.migration.policy allows it, a classic member that takes the place of the last one of KIP-848
    in a group, or one of KIP-848 that of the last classic one, MUST come to own partitions of the topics that it reads,
    and of no other, whatever the one before it read; beside other members each partition MUST have one owner that reads
    it, and the group MUST be of the kind of its members. Where it is disabled, such a member MUST be refused, and the
    one whose place it is MUST have its partitions.

    Under the instance id of the one before, or when that one leaves; alone or beside another member; with the same
    topics, others, or one more.
    """
    policy = (wire.setting(POLICY) or "").lower()
    topics = [topic_of(partitions=count, what=what) for count, what in ((2, "first"), (3, "second"), (2, "third"))]
    groups = Replacements(wire, rng, dict(zip(topics, (2, 3, 2), strict=True)))
    if policy == DISABLED:
        for meeting in (groups.classic_refused, groups.modern_refused):
            with wire.part(meeting.__name__):
                meeting()
        return
    if policy != BOTH:
        wire.not_applicable(f"{POLICY} is {policy or 'not returned'}")
    for what in ("others", "the same", "one more"):
        for replaced in (groups.by_a_classic_one, groups.by_one_of_kip_848):
            for static in (True, False):
                with wire.part(f"{replaced.__name__}, {'static' if static else 'dynamic'}: {what}"):
                    replaced(what, static)


class Replacements:
    """Groups in which that happens, each with a name of its own."""

    def __init__(self, wire, rng, counts):
        self.wire, self.rng, self.counts = wire, rng, counts

    def by_a_classic_one(self, what, static):
        group, (before, after) = self.wire.name("g"), self._reads(what)
        last = ConsumerGroupMember(self.wire, group, *before, instance_id=INSTANCE if static else None)
        self._settle([], [last])
        old = self._others(OldClient, group, static)
        self._settle(old, [last])
        if static:
            last.leave(AWAY).must_succeed()
            old.append(OldClient(self.wire, group, *after, instance_id=INSTANCE))
        else:
            old.append(OldClient(self.wire, group, *after))
            self._settle(old, [last])
            last.leave().must_succeed()
        self._settle(old, [])
        self._must_be_of(group, "classic")

    def by_one_of_kip_848(self, what, static):
        group, (before, after) = self.wire.name("g"), self._reads(what)
        modern = self._others(ConsumerGroupMember, group, True)
        self._settle([], modern)
        last = OldClient(self.wire, group, *before, instance_id=INSTANCE if static else None)
        self._settle([last], modern)
        modern.append(ConsumerGroupMember(self.wire, group, *after, instance_id=INSTANCE if static else None))
        if static:
            modern[-1].beat().must_succeed()
            last.member.heartbeat().must_be_refused(*REPLACED)
        else:
            self._settle([last], modern)
            last.member.leave().must_succeed()
        self._settle([], modern)
        self._must_be_of(group, "consumer")

    def classic_refused(self):
        group, (before, after) = self.wire.name("g"), self._reads("others")
        away = ConsumerGroupMember(self.wire, group, *before, instance_id=INSTANCE)
        self._settle([], [away])
        away.leave(AWAY).must_succeed()
        OldClient(self.wire, group, *after, instance_id=INSTANCE).member.join().must_be_refused(*NOT_THIS_KIND)
        self._settle([], [ConsumerGroupMember(self.wire, group, *before, instance_id=INSTANCE)])

    def modern_refused(self):
        group, (before, after) = self.wire.name("g"), self._reads("others")
        old = OldClient(self.wire, group, *before, instance_id=INSTANCE)
        self._settle([old], [])
        new = ConsumerGroupMember(self.wire, group, *after, instance_id=INSTANCE)
        new.beat().must_be_refused(*NOT_THIS_KIND)
        had = old.owned
        old.beats()
        old.syncs()
        self.wire.must(old.owned == had and not old.called, f"it had {sorted(had)} and has {sorted(old.owned)}")

    def _reads(self, what):
        """What is read before and after."""
        first, second, third = self.rng.sample(sorted(self.counts), 3)
        return {"others": ([first, second], [third]), "the same": ([first, second],) * 2}.get(
            what, ([first, second], [first, second, third])
        )

    def _others(self, kind, group, perhaps):
        """One of this kind beside it, or nobody."""
        if perhaps and self.rng.random() < 0.5:
            return [kind(self.wire, group, *self.rng.sample(sorted(self.counts), 2))]
        return []

    def _settle(self, old, modern):
        for each in modern:
            if not each.epoch:
                each.beat().must_succeed()
        self.wire.eventually(lambda: self._must_be_shared(old, modern), within=WITHIN_S)

    def _must_be_shared(self, old, modern):
        for each in modern:
            each.beat().must_succeed()
        go_on(self.wire, old, self.counts)
        for each in (*old, *modern):
            others = sorted(part for part in each.owned if part[0] not in each.topics)
            self.wire.must(not others, f"a member that reads {sorted(each.topics)} is to own {others}")
        owned = sorted(part for each in (*old, *modern) for part in each.owned)
        read = {topic for each in (*old, *modern) for topic in each.topics}
        wanted = sorted((topic, number) for topic in read for number in range(self.counts[topic]))
        self.wire.must(owned == wanted, f"members own {owned}; {wanted} are read, each to be owned once")

    def _must_be_of(self, group, kind):
        listed = self.wire.list_groups(to=self.wire.coordinator(group), version=5).must_succeed()
        found = [row.group_type.lower() for row in listed.struct.groups if row.group_id == group]
        listed.must(found == [kind], f"the group is listed as {found}; it must be {kind}", "groups")
