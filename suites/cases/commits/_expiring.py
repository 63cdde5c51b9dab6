"""Groups whose offsets expire, as a model: what is kept for the sake of members and transactions, and what goes."""

import struct
from typing import Any

from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile
from brokertrial.wire.messages import request

LOOKS_MS = 500
"""How often the brokers look for what has expired."""
SHORT_MS, LONG_MS, NEVER = 1_500, 3_600_000, -1
ASKED_FOR = (0, SHORT_MS, SHORT_MS, LONG_MS, NEVER)
WITHIN_S = 20
SESSION_MS, TRANSACTION_MS = 300_000, 600_000
ALONE, CLASSIC, OTHER, MODERN = "alone", "classic", "of another type", "modern"


def subscription(topic):
    """What a consumer brings to JoinGroup: version 0, one topic, no user data."""
    name = topic.encode()
    return struct.pack(">hih", 0, 1, len(name)) + name + struct.pack(">i", -1)


class ExpiringGroup:
    """One group. `offsets`: (topic, partition) -> the offset, and how long it is kept; `used` is what members read."""

    def __init__(self, wire, kind, used, left, rng):
        self.wire, self.kind, self.used, self.left, self.rng = wire, kind, used, left, rng
        self.name = wire.name("g")
        self.offsets: dict[tuple[str, int], tuple[int, int]] = {}
        self.staged: dict[tuple[str, int], int] = {}
        self.places = [(topic, partition) for topic in (used, left) for partition in (0, 1)]
        self.next = 10
        self.member: Any = None
        self.rebalances = False
        self.producer: Any = None

    # what is done

    def commit(self, place, keep_ms, version):
        """By an old client, which says how long the offset is kept; a member of KIP-848 cannot be one."""
        if place in self.staged or (self.kind == MODERN and self.member is not None):
            return
        self._await_coordinator()
        self.next += 1
        topic, partition = place
        row = {"partition_index": partition, "committed_offset": self.next, "committed_metadata": ""}
        member = self.member
        asked = request(
            "OffsetCommit",
            group_id=self.name,
            generation_id_or_member_epoch=-1 if member is None else member.generation,
            member_id="" if member is None else member.id,
            retention_time_ms=keep_ms,
            topics=[{"name": topic, "partitions": [row]}],
        )
        self.wire.ask(asked, version=version, to=lambda: self.wire.coordinator(self.name)).must_succeed()
        self.offsets[place] = (self.next, keep_ms)

    def commit_some(self):
        for place in self.rng.sample(self.places, self.rng.randint(1, 3)):
            self.commit(place, self.rng.choice(ASKED_FOR), self.rng.randint(2, 4))

    def join(self):
        """One member, which reads one of the two topics."""
        self._await_coordinator()
        if self.kind == MODERN:
            self.member = ConsumerGroupMember(self.wire, self.name, self.used)
            reconcile(self.member, partitions=2)
        elif self.kind in (CLASSIC, OTHER):
            how = {} if self.kind == CLASSIC else {"protocol_type": "opaque"}
            brings = [("range", subscription(self.used) if self.kind == CLASSIC else b"x")]
            member = self.wire.member(
                self.name, f"m{self.name}", protocols=brings, session_timeout_ms=SESSION_MS, **how
            )
            member.join().must_succeed()
            member.sync({member.id: b"given"}).must_succeed()
            self.member = member

    def _await_coordinator(self):
        """Until it has loaded what it knows: a question is asked again until then, a join or a commit is not."""
        self.wire.committed_all(self.name, self.places[:1]).must_succeed()

    def begin_rebalance(self):
        """The member joins again, and is not given anything yet: no offset may go meanwhile, whatever it reads."""
        if self.kind == CLASSIC and self.member is not None:
            begun_ms = self.wire.now_ms()
            self.commit((self.left, 0), SHORT_MS, 3)
            self.member.join().must_succeed()
            self.rebalances = True
            if self.wire.now_ms() > begun_ms + SHORT_MS:
                self.wire.unclear("the offset may have expired before its group rebalanced", "slow-target")

    def end_rebalance(self):
        if self.rebalances:
            self.member.sync({self.member.id: b"given"}).must_succeed()
            self.rebalances = False

    def leave(self):
        if self.member is not None:
            self.member.leave().must_succeed()
            self.member = None

    def beat(self):
        if self.kind == MODERN and self.member is not None:
            self.member.beat().must_succeed()

    def begin(self):
        """A producer for the transaction, whose coordinator may have to read a long log first."""
        self.producer = self.wire.producer(self.wire.name("x"), timeout_ms=TRANSACTION_MS)

    def stage(self, place):
        """In a transaction that stays open."""
        self.next += 1
        self.producer.send_offsets(self.name, {place: self.next}).must_succeed()
        self.staged[place] = self.next

    def end(self, commit):
        if self.producer is not None:
            (self.producer.commit() if commit else self.producer.abort()).must_succeed()
            if commit:
                self.offsets.update({place: (offset, NEVER) for place, offset in self.staged.items()})
            self.staged, self.producer = {}, None

    # what must be so

    def settle(self):
        """What has expired goes, unless it is in use."""
        for place, (_, keep_ms) in list(self.offsets.items()):
            read = self.member is not None and (self.kind == OTHER or self.rebalances or place[0] == self.used)
            if 0 <= keep_ms <= SHORT_MS and place not in self.staged and not read:
                del self.offsets[place]

    def must_be_so(self):
        by_name = min(9, max(self.wire.versions("OffsetFetch")))
        answer = self.wire.committed_all(self.name, self.places, version=by_name).must_succeed()
        wanted = {place: self.offsets.get(place, (-1, 0))[0] for place in self.places}
        found = {(str(topic), index): at for (topic, index), at in answer.offsets.items()}
        answer.must(found == wanted, f"the group ({self.kind}) has {found}; it must have {wanted}")
        listed = self.wire.list_groups(to=self.wire.coordinator(self.name)).must_succeed()
        there = self.name in {row.group_id for row in listed.struct.groups}
        must = bool(self.offsets or self.staged or self.member)
        why = f"{len(self.offsets)} offsets, {len(self.staged)} staged, {'a' if self.member else 'no'} member"
        listed.must(there == must, f"the group ({self.kind}) is {'' if there else 'not '}listed; it has {why}")
