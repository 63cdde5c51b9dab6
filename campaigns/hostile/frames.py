"""Frames that no honest client sends: valid requests of every API and version, wounded; lies about lengths; garbage.

Most of a wounded request is still what the schema says, and names topics, groups and producers that exist: so it gets
past the decoder and into the handlers. Everything comes from one seeded random stream.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

from brokertrial.wire.frames import encode_request
from brokertrial.wire.records import Record, build_batch
from brokertrial.wire.schema_text import Field
from tests.support.examples import example, plain

TOPICS = ("hostile-0", "hostile-1", "hostile-2")
_NAMES = {
    "name": TOPICS, "topic": TOPICS, "topic_name": TOPICS, "topics": TOPICS, "topic_names": TOPICS,
    "group_id": ("g-0", "g-1"), "groups": ("g-0", "g-1"), "group_ids": ("g-0", "g-1"), "groups_names": ("g-0", "g-1"),
    "transactional_id": ("x-0", "x-1"), "v3_and_below_transactional_id": ("x-0", "x-1"),
    "transactional_ids": ("x-0", "x-1"), "member_id": ("", "m-0"), "resource_name": (*TOPICS, "", "1"),
    "subscribed_topic_names": TOPICS, "subscribed_topic_regex": ("hostile.*", "(a|a)*b", "(", "x" * 300),
    "config_name": ("retention.ms", "cleanup.policy"), "assignor": ("uniform", "range"), "protocol_type": ("consumer",),
}  # fmt: skip
_NUMBERS = {
    "index": (0, 1, -1), "partition_index": (0, 1, -1), "partition": (0, 1, -1), "partitions": (0, 1, 7),
    "partition_indexes": (0, 1), "num_partitions": (1, 2, -1), "count": (2, 3), "replication_factor": (1, -1),
    "acks": (-1, 0, 1), "max_wait_ms": (0, 10), "timeout_ms": (0, 10, 1000), "fetch_offset": (0, 1, -1),
    "broker_id": (901, 902), "broker_ids": (1, 901), "replica_id": (-1, 901), "session_timeout_ms": (1000, 6000),
    "rebalance_timeout_ms": (100, 1000), "producer_id": (0, 1, -1), "producer_epoch": (0, -1), "member_epoch": (0, -1),
    "isolation_level": (0, 1), "timestamp": (-1, -2, 0), "resource_type": (2, 4), "config_operation": (0, 1, 2),
}  # fmt: skip
LIES = (b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\0\0\0\0", b"\x06\x3f\xff\xff")


class Hostile(NamedTuple):
    """One thing to send, and what kind of thing it is."""

    kind: str
    data: bytes


class Frames:
    """An endless stream of hostile frames for a listener that serves these APIs."""

    def __init__(self, rng: Random, served: dict[str, tuple[int, int]]) -> None:
        self._rng = rng
        self._served = sorted(served.items())

    def next(self) -> Hostile:
        """One frame with its size in front; about every tenth is left as it should be."""
        rng = self._rng
        frame = self._valid()
        kind = rng.choices(("wounded", "cut", "length", "garbage", "stranger", "valid"), (60, 10, 10, 5, 5, 10))[0]
        match kind:
            case "wounded":
                body = wounded(rng, frame[4:])
                return Hostile(kind, len(body).to_bytes(4, "big") + body)
            case "cut":
                body = frame[4 : rng.randrange(4, len(frame) + 1)]
                return Hostile(kind, len(body).to_bytes(4, "big") + body)
            case "length":
                return Hostile(kind, rng.choice((*LIES, rng.randrange(len(frame) * 2).to_bytes(4, "big"))) + frame[4:])
            case "garbage":
                return Hostile(kind, rng.randbytes(rng.randrange(1, 200)))
            case "stranger":
                head = rng.randrange(-2, 120).to_bytes(2, "big", signed=True) + rng.randrange(-1, 40).to_bytes(
                    2, "big", signed=True
                )
                return Hostile(kind, frame[:4] + head + frame[8:])
        return Hostile("valid", frame)

    def _valid(self) -> bytes:
        rng = self._rng
        while True:
            name, (low, high) = rng.choice(self._served)
            version = rng.randint(low, high)
            message = example(rng, name, "request", version, value=_value, unknown_tags=rng.random() < 0.3)
            try:
                return encode_request(message, version, rng.randrange(1 << 31), rng.choice(("me", "", None)))
            except ValueError:
                continue  # a value that the schema allows here and the encoding of this version does not


def _value(rng: Random, field: Field) -> Any:
    """A value that leads somewhere, as a rule; else an edge of its type."""
    known: Sequence[Any] = _NAMES.get(field.name, ()) if field.kind == "string" else _NUMBERS.get(field.name, ())
    if field.kind == "records":
        return _records(rng)
    return rng.choice(known) if known and rng.random() < 0.85 else plain(rng, field)


def _records(rng: Random) -> bytes:
    codec = rng.choice(("none", "none", "gzip", "snappy", "lz4", "zstd"))
    values = [
        Record(b"k", rng.randbytes(rng.randrange(60)), timestamp=rng.choice((-1, 1))) for _ in range(rng.randint(1, 4))
    ]
    batch = build_batch(values, compression=codec, producer_id=rng.choice((-1, -1, 0)), producer_epoch=0)
    return wounded(rng, batch) if rng.random() < 0.5 else batch


def wounded(rng: Random, data: bytes) -> bytes:
    """The same with a few bytes changed, inserted, cut or repeated; lengths are the favourite victims."""
    hurt = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(hurt) + 1)
        match rng.randrange(5):
            case 0:
                hurt[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                hurt[at : at + 4] = rng.choice(LIES)
            case 2:
                hurt[at:at] = rng.choice((b"\xff\xff\xff\xff\x0f", b"\x80", b"\xff", rng.randbytes(3)))
            case 3:
                del hurt[at : at + rng.randint(1, 8)]
            case 4:
                hurt[at:] = hurt[at // 2 :]
    return bytes(hurt)


_COMMANDS = ("dump", "pause_replication", "resume_replication", "advance_clock", "move_leader", "move_coordinator", "x")


def control_line(rng: Random) -> bytes:
    """A line for the control channel: commands with odd arguments, torn JSON, depth, length."""
    odd: tuple[object, ...] = (0, -1, 1, 1e308, float("nan"), "", "hostile-0", None, [], {}, True, 10**30)
    seconds = rng.choice((0, -1, float("inf"), float("nan"), "x", None))
    wanted: dict[str, object] = {"do": rng.choice(_COMMANDS), "seconds": seconds}
    wanted |= {name: rng.choice(odd) for name in ("topic", "partition", "to", "group") if rng.random() < 0.7}
    if wanted["do"] == "pause_replication":
        wanted["do"] = "resume_replication"  # the witness waits for its followers
    text = json.dumps(wanted).encode()
    match rng.randrange(8):
        case 0:
            text = wounded(rng, text)
        case 1:
            text = b"[" * rng.randrange(60_000)
        case 2:
            text = rng.randbytes(50)
        case 3:
            text = b"x" * 70_000
    return text.replace(b"\n", b" ") + b"\n"
