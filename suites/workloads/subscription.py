"""What members of a classic group tell each other: ConsumerProtocolSubscription and ConsumerProtocolAssignment, v0."""

from __future__ import annotations

import struct

from brokertrial.suites.probe.wire import Wire


def subscription(topics: list[str]) -> bytes:
    """The metadata of a member that wants these topics."""
    return _short(0) + _topics((topic, None) for topic in topics) + _int(-1)


def assignment(parts: dict[str, list[int]]) -> bytes:
    """What a member is given: partitions by topic."""
    return _short(0) + _topics(parts.items()) + _int(-1)


def assign_all(chosen: str, members: list[str], wire: Wire, topics: list[str]) -> dict[str, bytes]:
    """A leader's assignment that gives everything to one member."""
    everything = {topic: sorted(wire.known_partitions(topic)) for topic in topics}
    return {member: assignment(everything if member == chosen else {}) for member in members}


def _topics(rows: object) -> bytes:
    listed = list(rows)  # type: ignore[call-overload]
    data = _int(len(listed))
    for topic, parts in listed:
        name = topic.encode()
        data += _short(len(name)) + name
        if parts is not None:
            data += _int(len(parts)) + b"".join(_int(part) for part in parts)
    return data


def _short(number: int) -> bytes:
    return struct.pack(">h", number)


def _int(number: int) -> bytes:
    return struct.pack(">i", number)
