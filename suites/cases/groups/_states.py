"""Groups of both protocols, one in each state that a group can be in, and who is in them, was and never was."""

import struct
from typing import Any

from brokertrial.suites.cases.groups._group_settings import lengthen_sessions
from brokertrial.suites.cases.groups._living import LONG_MS
from brokertrial.suites.probe import join_together, rebalance
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile

CLASSIC, MODERN = "classic", "consumer"
EMPTY, PREPARING, COMPLETING, STABLE = "Empty", "PreparingRebalance", "CompletingRebalance", "Stable"
CONSUMER, OPAQUE = "consumer", "opaque"
QUIET_MS, ALMOST_MS = 1_500, LONG_MS * 2 // 3
"""So long a KIP-848 member is silent: where its session cannot be lengthened it may be a few seconds."""


def turns(wire, began_ms, count):
    """So many turns for groups that were made since then; a slow target has fewer, for sessions and rebalances end."""
    for number in range(count):
        if wire.now_ms() > began_ms + ALMOST_MS:
            if number < count // 4:
                wire.unclear(f"{number} of {count} turns took as long as sessions last", "slow-target")
            return
        yield number


class GroupInState:
    """A group as it is: its kind (None: there is none), its state, and its members by their ids."""

    def __init__(self, wire, what, kind, rng, read, other):
        self.wire, self.what, self.kind, self.rng, self.name = wire, what, kind, rng, wire.name("g")
        self.type = rng.choice((CONSUMER, CONSUMER, OPAQUE))
        self.state, self.generation, self.offset = EMPTY, 0, -1
        self.instances: dict[str, str | None] = {}
        """Who is in it: the instance of each."""
        self.epochs: dict[str, int] = {}
        self.given: dict[str, bytes] = {}
        self.gone: list[str] = []
        self.reads, self.members = [read, other], []
        self.topics: tuple[str, ...] = ()
        self.heard_ms = wire.now_ms()

    # -- how it comes about

    def member(self, name, instance=None, number=0):
        bytes_ = b"?" if self.type == OPAQUE else _subscription(self.reads[number])
        more = {"instance_id": instance} if instance else {}
        long: dict[str, Any] = {"session_timeout_ms": LONG_MS, "rebalance_timeout_ms": LONG_MS}
        wishes = [("p", bytes_), (name, bytes_)]
        own = f"{name} of {self.what}"
        return self.wire.member(self.name, own, protocol_type=self.type, protocols=wishes, **long, **more)

    def two_come(self):
        """One of them is static."""
        self.members = [self.member("one"), self.member("two", self.wire.name("i"), 1)]
        given = [b"of one", b"of two"]
        rebalance(*self.members, assignments=given)
        self.is_in(*self.members)
        self.given = {member.id: data for member, data in zip(self.members, given, strict=True)}
        self.state, self.topics = STABLE, tuple(self.reads)

    def is_in(self, *members):
        self.instances |= {member.id: member.settings.get("instance_id") for member in members}
        self.generation = max(member.generation for member in members)

    def all_go(self):
        for member in self.members:
            member.leave().must_succeed()
        self.gone += list(self.instances)
        self.members, self.instances, self.given, self.state, self.topics = [], {}, {}, EMPTY, ()
        self.generation += 1

    def commits(self, topic, offset):
        whose = {}
        if self.members:
            member = self.members[0]
            whose = {"member_id": member.id, "generation": self.epochs.get(member.id, self.generation)}
        self.wire.commit(self.name, topic, offset=offset, **whose).must_succeed()
        self.offset = offset

    def third_comes(self):
        """Others are awaited: the two that are in it have not joined again."""
        third = self.member("three")
        third.begin_join()
        self.members[0].await_rebalance()
        self.state = PREPARING

    def joins_again(self):
        """All have joined; the leader has not brought the assignments."""
        join_together(*self.members)
        self.is_in(*self.members)
        self.state = COMPLETING

    def modern_comes(self, topic):
        lengthen_sessions(self.wire, self.name)
        member = ConsumerGroupMember(self.wire, self.name, topic)
        member.beat().must_succeed()
        reconcile(member, partitions=1)
        self.members, self.kind, self.type = [member], MODERN, CONSUMER
        self.heard_ms = self.wire.now_ms()
        self.instances, self.epochs, self.state, self.topics = (
            {member.id: None},
            {member.id: member.epoch},
            STABLE,
            (topic,),
        )

    def modern_goes(self):
        for member in self.members:
            member.leave().must_succeed()
        self.gone += list(self.instances)
        self.members, self.instances, self.epochs, self.state, self.topics = [], {}, {}, EMPTY, ()

    def is_deleted(self):
        self.wire.delete_groups(self.name).must_succeed()
        self.kind, self.offset, self.generation = None, -1, 0

    def stays_alive(self):
        """Its KIP-848 members heartbeat, which say nothing new."""
        if self.kind == MODERN and self.wire.now_ms() > self.heard_ms + QUIET_MS:
            self.heard_ms = self.wire.now_ms()
            for member in self.members:
                member.beat().must_have("member_epoch", self.epochs[member.id])

    # -- what is to be answered

    @property
    def listed_type(self):
        """The protocol type that lists show; a group that only holds offsets has none."""
        return self.type if self.kind == MODERN or self.generation else ""

    def bytes_of(self, id_):
        """What a member of a stable classic group brought."""
        return next(member.settings["protocols"][0][1] for member in self.members if member.id == id_)

    def subscribes(self, topic):
        """What its generation read, where it is a group of consumers: of others the broker cannot know."""
        return bool(self.members) and self.type == CONSUMER and topic in self.topics


def all_states(wire, rng, read, other, *, modern):
    """One group for each state, ready to be asked."""
    made = []

    def new(what, kind=CLASSIC):
        made.append(GroupInState(wire, what, kind, rng, read, other))
        return made[-1]

    new("absent", None)
    new("only offsets").commits(read, 1)
    left = new("left")
    left.two_come()
    left.commits(read, 2)
    readers = new("left by readers")
    readers.type = CONSUMER
    readers.two_come()
    readers.commits(read, 2)
    left.all_go()
    readers.all_go()
    new("stable").two_come()
    waits = new("preparing")
    waits.two_come()
    waits.third_comes()
    unfinished = new("completing")
    unfinished.two_come()
    unfinished.commits(read, 3)
    unfinished.joins_again()
    deleted = new("deleted")
    deleted.two_come()
    deleted.commits(read, 4)
    deleted.all_go()
    deleted.is_deleted()
    again = new("made again")
    again.two_come()
    again.all_go()
    again.is_deleted()
    again.kind = CLASSIC
    again.two_come()
    if modern:
        new("modern").modern_comes(read)
        gone = new("modern and left")
        gone.modern_comes(read)
        gone.modern_goes()
        turned = new("modern, then classic")
        turned.modern_comes(read)
        turned.modern_goes()
        turned.kind = CLASSIC
        turned.two_come()
        back = new("classic, then modern")
        back.two_come()
        back.all_go()
        back.modern_comes(read)
    return made


def _subscription(topic):
    """What a consumer brings to JoinGroup: version 0, one topic, no user data."""
    name = topic.encode()
    return struct.pack(">hih", 0, 1, len(name)) + name + struct.pack(">i", -1)
