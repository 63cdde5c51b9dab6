"""What classic consumers bring to a group and are given, in bytes (ConsumerProtocolSubscription, -Assignment)."""

import struct

RANGE = "range"


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
