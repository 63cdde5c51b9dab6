"""Short histories told by hand, recorded and judged like real ones."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.judge import Judgement, judge
from brokertrial.histories.header import Header
from brokertrial.histories.reader import History
from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import Batch, Client, Event, Operation, Record, Row

TOPIC = "t"


class Story:
    """A history in the making; every call is one operation, 10 ns after the one before unless it says when."""

    def __init__(self, folder: Path, **header: Any) -> None:
        self.folder = folder
        self.header = Header(**{"case": "tests/story", "target": "nobody", "nodes": 3, **header})
        self.rows: list[Row] = []
        self._ops = itertools.count(1)
        self._last: dict[object, int] = {}
        self._places: dict[object, Iterator[int]] = {}

    def producer(self, name: str = "p", **settings: Any) -> None:
        settings = {"library": "librdkafka", "acks": -1, "idempotence": True, **settings}
        self.rows.append(Client(client=name, **settings))

    def reader(self, name: str = "r", isolation: str = "read_uncommitted", **settings: Any) -> None:
        self.rows.append(Client(client=name, library="librdkafka", isolation=isolation, mode="assign", **settings))

    def op(self, kind: str, client: str = "p", *, call: int | None = None, ret: int | None = -1, **fields: Any) -> int:
        """One operation; `ret` None: it never returned."""
        number = next(self._ops)
        start = number * 10 if call is None else call
        end = start + 5 if ret == -1 else ret
        fields = {"outcome": "ok", "topic": TOPIC, "partition": 0, **fields}
        self.rows.append(Operation(op=number, client=client, kind=kind, call_ns=start, return_ns=end, **fields))
        return number

    def send(self, value: int, at: int | None = None, client: str = "p", outcome: str = "ok", **fields: Any) -> int:
        """Sends one record; `at`: the offset that the acknowledgement named."""
        partition, txn = fields.get("partition", 0), fields.get("txn")
        epoch = fields.pop("leader_epoch", None)
        number = self.op("send", client, outcome=outcome, base_offset=at, count=1, **fields)
        place = next(self._places.setdefault((client, partition), itertools.count()))
        self.rows.append(
            Record(
                op=number, client=client, topic=TOPIC, partition=partition, offset=at, value=value, side="sent",
                position=place, outcome=outcome, txn=txn, leader_epoch=epoch,
            )
        )  # fmt: skip
        return number

    def read(
        self, *pairs: tuple[int, int | None], client: str = "r", stream: int = 1, start: int | None = 0, **more: Any
    ) -> int:
        """One poll: (offset, value) pairs; the stream started from `start` when this is its first poll."""
        partition = more.pop("partition", 0)
        changes = {name: more.pop(name) for name in ("intact", "leader_epoch") if name in more}
        number = self.op("poll", client, partition=partition, count=len(pairs), **more)
        for offset, value in pairs:
            key = (client, stream, partition)
            before = self._last.get(key, None if start is None else start - 1)
            place = next(self._places.setdefault(key, itertools.count()))
            self._last[key] = offset
            row = Record(
                op=number, client=client, topic=TOPIC, partition=partition, offset=offset, value=value, side="seen",
                stream=stream, position=place, prev_offset=before, outcome=more.get("outcome", "ok"),
            )  # fmt: skip
            for name, content in changes.items():
                setattr(row, name, content)
            self.rows.append(row)
        return number

    def final_read(self, end: int, partition: int = 0) -> None:
        self.event("final-read", topic=TOPIC, partition=partition, offset=end)

    def event(self, kind: str, **fields: Any) -> None:
        self.rows.append(Event(kind=kind, at_ns=next(self._ops) * 10, **fields))

    def batch(self, offset: int, sequence: int, producer_id: int = 7, epoch: int = 0, count: int = 1) -> None:
        """What the final raw read found in the log."""
        self.rows.append(
            Batch(
                topic=TOPIC, partition=0, base_offset=offset, last_offset=offset + count - 1, producer_id=producer_id,
                producer_epoch=epoch, base_sequence=sequence, seen_at="final",
            )
        )  # fmt: skip

    def history(self) -> History:
        if self.folder.exists():
            return History.open(self.folder)
        with Recorder.create(self.folder, self.header) as recorder:
            for row in self.rows:
                recorder.add(row)
        return History.open(self.folder)

    def judge(self, *checks: str) -> Judgement:
        return judge(self.history(), checks or None)

    def anomalies(self, *checks: str) -> list[Anomaly]:
        return self.judge(*checks).anomalies

    def only(self, check: str) -> Anomaly:
        """The one anomaly that the check must find."""
        found = self.anomalies(check)
        assert len(found) == 1, found
        return found[0]


@pytest.fixture
def story(tmp_path: Path) -> Callable[..., Story]:
    """A new story; header fields as keywords."""
    numbers = itertools.count()
    return lambda **header: Story(tmp_path / f"history-{next(numbers)}", **header)


@pytest.fixture
def told(story: Callable[..., Story]) -> Callable[..., Story]:
    """One idempotent producer p and one reader r on a cluster of three nodes."""

    def begin(**header: Any) -> Story:
        tale = story(**header)
        tale.producer("p")
        tale.reader("r")
        return tale

    return begin


@pytest.fixture
def four_sent(told: Callable[..., Story]) -> Callable[..., Story]:
    """The same with a reader c of committed records, and 10 to 13 at the offsets 0 to 3."""

    def begin(**header: Any) -> Story:
        tale = told(**header)
        tale.reader("c", isolation="read_committed")
        for value in (10, 11, 12, 13):
            tale.send(value, at=value - 10)
        return tale

    return begin


@pytest.fixture
def transactional(story: Callable[..., Story]) -> Callable[..., Story]:
    """A transactional producer p, a reader u of everything and a reader c of what is committed."""

    def begin(**header: Any) -> Story:
        tale = story(**header)
        tale.producer("p", transactional_id="tx")
        tale.reader("u", isolation="read_uncommitted")
        tale.reader("c", isolation="read_committed")
        return tale

    return begin
