"""What is asked of a search engine, and what it answers: the same for the one in Python and for porcupine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

OperationFields = Mapping[str, Any]
Ruling = Literal["ok", "illegal", "unknown"]


class Op(NamedTuple):
    """One operation on the object: when, what was asked, what was told. Times are integers of one clock.

    `call` None: before everything. `ret` None: it never returned, and takes effect at some time after `call`; when
    nothing is `told` either, perhaps never. Intervals are closed: 1 to 2 and 2 to 3 are concurrent.
    """

    op: int
    f: str
    call: int | None
    ret: int | None
    asked: OperationFields
    told: OperationFields | None
    client: int = 0
    note: str = ""

    @property
    def perhaps(self) -> bool:
        """Whether it may have had no effect at all."""
        return self.ret is None and self.told is None


@dataclass(frozen=True, slots=True)
class Question:
    """A history of one object: is there an order of its operations that explains every answer?"""

    model: str
    ops: Sequence[Op]
    init: OperationFields = field(default_factory=dict)
    name: str = ""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """`unknown` comes with a reason (timeout, memory, states, crash) and is never to be read as a pass.

    `prefix`: the longest sequence found that is legal; `blocked`: what could come next by its times and does not fit.
    """

    ruling: Ruling
    reason: str = ""
    steps: int = 0
    prefix: tuple[int, ...] = ()
    blocked: tuple[int, ...] = ()
    engine: str = ""
