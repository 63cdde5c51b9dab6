"""A legal history with a few rows changed: what an injected anomaly is made with."""

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from msgspec import structs

from brokertrial.histories.rows import Batch, Operation, Record, Row

SECOND = 1_000_000_000


class Expected(NamedTuple):
    """What the check must find: an anomaly of this name (or of one of these), there, with these columns.

    `judged` 0: it is told, and held against nobody.
    """

    check: str
    name: str
    topic: str
    partition: int
    columns: dict[str, int]
    judged: int


class Wound:
    """A legal history and the few rows that differ in it."""

    def __init__(self, legal: Any, rng: Random) -> None:
        self.legal, self.rng = legal, rng
        self.dropped: set[int] = set()
        self.added: list[Row] = []

    def all(self, kind: type, /, **fields: object) -> list[Any]:
        """Rows of a kind with these fields."""
        return self.legal.those(kind, tuple(fields.items()))  # type: ignore[no-any-return]

    def one(self, kind: type, where: Callable[[Any], bool] = lambda row: True, /, **fields: object) -> Any:
        """A random one of them."""
        return self.rng.choice([row for row in self.all(kind, **fields) if where(row)])

    def drop(self, *rows: Row) -> None:
        self.dropped.update(map(id, rows))

    def change(self, row: Row, **fields: object) -> Any:
        """The row with other content."""
        self.drop(row)
        self.added.append(structs.replace(row, **fields))
        return self.added[-1]

    def add(self, row: Row) -> None:
        self.added.append(row)

    def op(self, **fields: Any) -> Operation:
        """A call more, in a lane of numbers of its own."""
        fields = {"client": "r", "outcome": "ok", "call_ns": self.end, "return_ns": self.end + 1, **fields}
        self.add(Operation(op=10**9 + len(self.added), **fields))
        return self.added[-1]  # type: ignore[return-value]

    @property
    def end(self) -> int:
        """A moment after everything."""
        return int(self.legal.now) + SECOND

    def length(self, topic: str, partition: int) -> int:
        return len(self.legal.logs[topic, partition])

    def see(self, like: Record, *, prev: int | None = None, client: str = "r", **fields: Any) -> Record:
        """A record more that a reader was given, in a stream of its own."""
        times = {name: fields.pop(name) for name in ("call_ns", "return_ns") if name in fields}
        place = {"topic": like.topic, "partition": like.partition}
        op = self.op(kind="fetch", client=client, **place, **times)
        shown = Record(op=op.op, client=client, **place, offset=like.offset, value=like.value, side="seen",
                       stream=10**9, position=0, prev_offset=prev, outcome="ok")  # fmt: skip
        self.add(structs.replace(shown, **fields))
        return self.added[-1]  # type: ignore[return-value]

    def hide(self, record: Record, clients: str) -> int:
        """Takes a record out of what these clients were given; where the stream that went furthest goes on."""
        reach = -1
        for row in self.legal.shown(record.value):
            if row.client[0] in clients:
                after = self.legal.next_shown(row)
                self.drop(row)
                if after is not None:
                    self.change(after, prev_offset=row.prev_offset, position=row.position)
                    reach = max(reach, after.offset)
        return reach

    def sent(self, topic: str = "t", where: Callable[[Any], bool] = lambda row: True, **fields: object) -> Any:
        """A record that was sent and acknowledged, in the middle of its partition."""
        fields = {"side": "sent", "topic": topic, "outcome": "ok", **fields}
        return self.one(
            Record,
            lambda row: 4 < row.offset < self.length(row.topic, row.partition) - 8 and where(row),
            **fields,
        )

    def operation(self, record: Record) -> Operation:
        return self.legal.operations[record.op]  # type: ignore[no-any-return]

    def state(self, record: Record) -> str:
        return self.legal.logs[record.topic, record.partition][record.offset][1]  # type: ignore[no-any-return]

    def told(self, check: str, record: Row, name: str | None = None, judged: int = 1, **columns: int) -> Expected:
        return Expected(check, name or check, record.topic, record.partition, columns, judged)  # type: ignore[union-attr]

    def batch(self, record: Record) -> Batch:
        return self.legal.batches[record.topic, record.partition, record.offset]  # type: ignore[no-any-return]
