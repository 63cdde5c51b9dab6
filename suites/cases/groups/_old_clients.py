"""Classic consumers by hand, each with topics of its own, in whatever kind of group: they rebalance together."""

import struct

from brokertrial.wire import errors

LONG_MS = 60_000
RANGE = "range"
CALLS = (errors.REBALANCE_IN_PROGRESS, errors.ILLEGAL_GENERATION)
"""After these a client joins again; the second comes where the group became another kind in its generation."""


def subscription(topics):
    """What a consumer brings to JoinGroup: version 0, no user data."""
    return struct.pack(">hi", 0, len(topics)) + b"".join(map(_text, sorted(topics))) + struct.pack(">i", -1)


def assignment(parts):
    """What a leader gives a consumer: version 0, no user data."""
    topics = sorted({topic for topic, _ in parts})
    rows = [(topic, sorted(number for name, number in parts if name == topic)) for topic in topics]
    body = b"".join(_text(topic) + struct.pack(f">i{len(of)}i", len(of), *of) for topic, of in rows)
    return struct.pack(">hi", 0, len(rows)) + body + struct.pack(">i", -1)


def parts_of(given):
    """The partitions of an assignment as it came; of no bytes none."""
    if not given:
        return frozenset()
    count, at, parts = struct.unpack_from(">i", given, 2)[0], 6, set()
    for _ in range(count):
        size = struct.unpack_from(">h", given, at)[0]
        topic, at = given[at + 2 : at + 2 + size].decode(), at + 2 + size
        many = struct.unpack_from(">i", given, at)[0]
        parts |= {(topic, number) for number in struct.unpack_from(f">{many}i", given, at + 4)}
        at += 4 + 4 * many
    return frozenset(parts)


def _text(text):
    return struct.pack(">h", len(text.encode())) + text.encode()


class OldClient:
    """One of them: `owned` is what it was given last, `called` whether it must join (again)."""

    def __init__(self, wire, group, *topics, instance_id=None):
        times = {"session_timeout_ms": LONG_MS, "rebalance_timeout_ms": LONG_MS}
        brings = [(RANGE, subscription(topics))]
        self.member = wire.member(group, wire.name("old"), protocols=brings, instance_id=instance_id, **times)
        self.topics, self.called = topics, True
        self.owned: frozenset[tuple[str, int]] = frozenset()

    def beats(self):
        """A sign of life, which may call for another join."""
        beat = self.member.heartbeat()
        self.called = beat.error in CALLS
        if not self.called:
            beat.must_succeed()

    def finishes_join(self):
        joined = self.member.finish_join()
        self.called = joined.error in CALLS
        if not self.called:
            joined.must_succeed()

    def syncs(self, assignments=None):
        synced = self.member.sync(assignments)
        self.called = synced.error in CALLS
        if not self.called:
            self.owned = parts_of(synced.must_succeed().assignment)


def go_on(wire, clients, counts):
    """One round as clients go: signs of life, and whoever is called joins; the leader shares out what is read."""
    for each in clients:
        if not each.called:
            each.beats()
    joining = []
    while new := [each for each in clients if each.called and each not in joining]:
        for each in new:
            each.member.begin_join()
        joining += new
        for each in clients:
            if each not in joining:
                each.beats()
    for each in joining:
        each.finishes_join()
    for each in sorted(joining, key=lambda each: not each.member.leads):
        if not each.called:
            each.syncs(_shared_out(wire, each, clients, counts) if each.member.leads else None)


def _shared_out(wire, leader, clients, counts):
    """Each partition to one of those who read its topic, in turn; the leader must have been given all of them."""
    found = {row.member_id: bytes(row.metadata) for row in leader.member.joined.struct.members}
    brought = {each.member.id: subscription(each.topics) for each in clients}
    what = f"the leader is given {len(found)} members, or not what they bring; the group has {len(brought)}"
    wire.must(found == brought, what, leader.member.joined)
    given = {each.member.id: set() for each in clients}  # type: ignore[var-annotated]
    for topic, count in sorted(counts.items()):
        readers = [each.member.id for each in clients if topic in each.topics]
        for number in range(count if readers else 0):
            given[readers[number % len(readers)]].add((topic, number))
    return {id_: assignment(parts) for id_, parts in given.items()}
