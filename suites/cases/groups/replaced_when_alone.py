"""A member of the other protocol takes the place of the only one of a group, and reads other topics (KIP-848)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._old_clients import RANGE, assignment, parts_of, subscription
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember
from brokertrial.wire import errors

POLICY = "group.consumer.migration.policy"
DISABLED, BOTH = "disabled", "bidirectional"
NOT_THIS_KIND = (errors.GROUP_ID_NOT_FOUND, errors.UNKNOWN_MEMBER_ID, errors.INCONSISTENT_GROUP_PROTOCOL)
CALLS = (errors.REBALANCE_IN_PROGRESS, errors.ILLEGAL_GENERATION)
"""After these a client joins again."""
WITHIN_S, LONG_MS, AWAY, INSTANCE = 15, 60_000, -2, "i-1"


@case(
    "groups/only-member-replaced",
    guarantees=["g848-014", "g848-005", "grp-010", "grp-015"],
    apis={"ConsumerGroupHeartbeat": 0, "JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3, "ListGroups": 5},
    features={"group.version": 1},
    needs=["partitions"],
    detects=["W16", "B202", edit_answer("assignment", set="", api="SyncGroup")],
)
def who_takes_the_only_ones_place_is_given_what_it_reads(wire, topic_of, rng):
    """Where group.consumer.migration.policy allows it, a static classic member that takes the place of the only member
    of a KIP-848 group, or one of KIP-848 that of the only member of a classic group, MUST come to own the partitions of
    the topics that it reads, and no other, whatever the one before it read, and the group MUST be of its kind. Where it
    is disabled, such a member MUST be refused, and the one whose place it is MUST have its partitions.

    Under the instance id of the one before, alone in the group; with other topics, one more, one less and the same. A
    classic member whose generation is refused joins again with its member id or, as if it had started anew, without.
    """
    policy = (wire.setting(POLICY) or "").lower()
    counts = {topic_of(partitions=count, what=what): count for count, what in ((2, "first"), (3, "second"))}
    one, other = rng.sample(sorted(counts), 2)
    if policy == DISABLED:
        for refused in (_classic_refused, _modern_refused):
            with wire.part(refused.__name__[1:]):
                refused(wire, counts, one, other)
        return
    if policy != BOTH:
        wire.not_applicable(f"{POLICY} is {policy or 'not returned'}")
    reads = {"others": ([one], [other]), "one more": ([one], [one, other]), "one less": ([one, other], [other])}
    for what, (before, after) in {**reads, "the same": ([one], [one])}.items():
        for anew in (True, False):
            with wire.part(f"by a classic one{' that starts anew' if anew else ''}: {what}"):
                _by_a_classic_one(wire, counts, before, after, anew)
        with wire.part(f"by one of KIP-848: {what}"):
            _by_one_of_kip_848(wire, counts, before, after)


class OldClient:
    """A static classic member that is alone in its group: `owned` is what it was given last."""

    def __init__(self, wire, group, topics, *, anew=False):
        times = {"session_timeout_ms": LONG_MS, "rebalance_timeout_ms": LONG_MS}
        brings = [(RANGE, subscription(topics))]
        self.member = wire.member(group, wire.name("old"), protocols=brings, instance_id=INSTANCE, **times)
        self.topics, self.called, self.anew = topics, True, anew
        self.owned: frozenset[tuple[str, int]] = frozenset()

    def goes_on(self, counts):
        """A sign of life, or what it is called to: a join, in which it may come to lead."""
        if not self.called and self._is_fine(self.member.heartbeat()):
            return
        if self._is_fine(self.member.join()):
            own = {(topic, number) for topic in self.topics for number in range(counts[topic])}
            given = {self.member.id: assignment(own)} if self.member.leads else None
            synced = self.member.sync(given)
            if self._is_fine(synced):
                self.owned = parts_of(synced.assignment)

    def _is_fine(self, answer):
        self.called = answer.error in CALLS
        if not self.called:
            answer.must_succeed()
        elif self.anew and answer.error == errors.ILLEGAL_GENERATION:
            self.member.id, self.anew = "", False
        return not self.called


def _by_a_classic_one(wire, counts, before, after, anew):
    group = wire.name("g")
    last = _settled(wire, group, counts, before)
    last.leave(AWAY).must_succeed()
    old = OldClient(wire, group, after, anew=anew)
    wire.eventually(lambda: _must_own(wire, old, counts), within=WITHIN_S)
    _must_be_of(wire, group, "classic")


def _by_one_of_kip_848(wire, counts, before, after):
    group = wire.name("g")
    old = OldClient(wire, group, before)
    wire.eventually(lambda: _must_own(wire, old, counts), within=WITHIN_S)
    _settled(wire, group, counts, after)
    _must_be_of(wire, group, "consumer")


def _classic_refused(wire, counts, one, other):
    group = wire.name("g")
    _settled(wire, group, counts, [one]).leave(AWAY).must_succeed()
    OldClient(wire, group, [other]).member.join().must_be_refused(*NOT_THIS_KIND)
    _settled(wire, group, counts, [one])


def _modern_refused(wire, counts, one, other):
    group = wire.name("g")
    old = OldClient(wire, group, [one])
    wire.eventually(lambda: _must_own(wire, old, counts), within=WITHIN_S)
    ConsumerGroupMember(wire, group, other, instance_id=INSTANCE).beat().must_be_refused(*NOT_THIS_KIND)
    _must_own(wire, old, counts)
    has = parts_of(old.member.sync().must_succeed().assignment)
    wire.must(has == old.owned, f"it had {sorted(old.owned)} and has {sorted(has)}")


def _settled(wire, group, counts, topics):
    """A member of KIP-848 that owns what it reads."""
    member = ConsumerGroupMember(wire, group, *topics, instance_id=INSTANCE)
    member.beat().must_succeed()

    def must_own():
        member.beat().must_succeed()
        _must_be_all_of(wire, member.owned, counts, topics)

    wire.eventually(must_own, within=WITHIN_S)
    return member


def _must_own(wire, old, counts):
    old.goes_on(counts)
    _must_be_all_of(wire, old.owned, counts, old.topics)


def _must_be_all_of(wire, owned, counts, topics):
    wanted = sorted((topic, number) for topic in topics for number in range(counts[topic]))
    wire.must(sorted(owned) == wanted, f"who reads {sorted(topics)} alone owns {sorted(owned)}")


def _must_be_of(wire, group, kind):
    listed = wire.list_groups(to=wire.coordinator(group), version=5).must_succeed()
    found = [row.group_type.lower() for row in listed.struct.groups if row.group_id == group]
    listed.must(found == [kind], f"the group is listed as {found}; it must be {kind}", "groups")
