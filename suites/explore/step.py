"""What one request of a sequence is, before it is known what either broker calls its ids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Learn = Callable[[dict[str, Any]], None]
TOPIC, PRODUCER, MEMBER, SESSION = "T", "P", "M", "S"
RESTART = "restart"
"""What stands for an API where all nodes are stopped, or killed, and started again."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """An id that each broker chose itself, by the order in which it was first told: `P1`, `M2`."""

    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind}{self.number}"


@dataclass(frozen=True, slots=True)
class StepBatch:
    """A record batch; built for each broker alone, for a batch names its producer by id.

    `tag` makes the values differ from those of other batches; `shape` is plain, null (no values) or headers.
    """

    count: int
    producer: Symbol | int = -1
    epoch: int = -1
    sequence: int = -1
    transactional: bool = False
    compression: str = "none"
    key: bytes | None = None
    timestamp: int = 0
    size: int = 8
    tag: int = 0
    shape: str = "plain"
    wrong: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class StepMemberState:
    """What a broker last told a member of a KIP-848 group: its `epoch` (or so many more), or what it has `owned`."""

    what: str
    group: str
    member: Symbol | str
    plus: int = 0


@dataclass(frozen=True, slots=True)
class StepReplicas:
    """The nodes that a partition is on, as each broker numbers them, so many times, and others behind them.

    Of a partition that is not there: the first node of the cluster.
    """

    topic: str
    index: int
    times: int = 1
    more: tuple[int, ...] = ()

    def __str__(self) -> str:
        where = "where the partition is" if self.index >= 0 else "the first node"
        also = "".join(f", {node}" for node in self.more)
        return f"{where}{', twice' if self.times > 1 else ''}{also}"


@dataclass(frozen=True, slots=True)
class StepPatience:
    """How long a broker may wait for records, in milliseconds: twice as long as a held request is given."""

    def __str__(self) -> str:
        return "a moment"


@dataclass(frozen=True, slots=True)
class Visible:
    """What has to be visible on a broker before the next request: `kind` names a look in visible.py."""

    kind: str
    name: str
    value: Any = None


@dataclass(slots=True)
class RequestStep:
    """One request: which API in which version, on which connection; its fields hold Symbol, MemberState and Batch.

    `learn` takes what the oracle answered into the model; `until` says what both brokers must show before the next
    request. `blocks` marks a request that a broker may hold back until something else happens, `unanswered`
    one that has no answer (acks=0).
    """

    api: str
    version: int
    fields: dict[str, Any]
    connection: int = 0
    blocks: bool = False
    unanswered: bool = False
    learn: Learn | None = None
    until: list[Visible] = field(default_factory=list)
