"""An anomaly: one row of evidence that a guarantee was broken."""

from typing import Literal

import msgspec

Strength = Literal["integrity", "order", "durability", "recency"]
Attribution = Literal["broker", "client", "unknown"]


class Anomaly(msgspec.Struct, frozen=True, kw_only=True):
    """Where it is, the two or three operations that prove it, and the story in one sentence.

    `attribution`: whom the wire evidence accuses. Only "broker" can fail a case; "client" is what a client did wrong,
    "unknown" that the records alone cannot tell.
    `stands_alone`: its own operations prove it; the missing record of a client that never ended cannot explain it.
    `harms`: an acknowledged record was lost, altered, doubled or reordered, or an aborted one delivered.
    """

    name: str
    guarantee: str
    topic: str | None
    partition: int | None
    offsets: tuple[int, ...]
    values: tuple[int, ...]
    operations: tuple[int, ...]
    sentence: str
    strength: Strength
    attribution: Attribution
    group: str | None = None
    stands_alone: bool = False
    harms: bool = False
