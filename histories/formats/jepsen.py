"""Jepsen's Kafka workload as a history of our own: keys become topics with one partition, processes become clients.

The order of the lines is the order of what happened; `time` only sets how far apart. An operation is named by the index
of its completion (of its invocation, if it never returned), or by the next free number where the file has none.
"""

from collections.abc import Iterator
from pathlib import Path

from brokertrial.histories.formats.jepsen_lines import ASSIGNS, JepsenOperation, lines_of
from brokertrial.histories.formats.legend import Legend
from brokertrial.histories.formats.micro_ops import SendOp, keys_of, moves_of, rebalanced_of
from brokertrial.histories.formats.settings import Settings
from brokertrial.histories.header import Header
from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import Client, Event, Operation, Record, Row

WW_EDGES = "ww-edges"
"""The event that makes the order of two writes count as a dependency between their operations."""


class _Place:
    """How far one process has come with one key."""

    __slots__ = ("polled", "sent", "stream")

    def __init__(self) -> None:
        self.stream = 0
        self.sent = 0
        self.polled = 0


class _Process:
    """One process: what it has begun, and its places."""

    __slots__ = ("begun", "called", "key_places", "name", "number", "returned")

    def __init__(self, name: str) -> None:
        self.name = name
        self.begun: JepsenOperation | None = None
        self.number = 0
        self.called = 0
        self.returned = 0
        self.key_places: dict[str, _Place] = {}

    def place(self, topic: str) -> _Place:
        place = self.key_places.get(topic)
        if place is None:
            place = self.key_places[topic] = _Place()
        return place

    def keep_only(self, topics: set[str]) -> None:
        """An assign or subscribe: every key that it does not name begins anew."""
        for topic, place in self.key_places.items():
            if topic not in topics:
                place.stream += 1


class Jepsen:
    """Reads one file; `rows` must be read to the end before `legend` and `subscribes` are complete."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.legend = Legend()
        self.subscribes = False
        self.operations = 0
        self._processes: dict[int | str, _Process] = {}
        self._now = 0
        self._index = -1

    def rows(self) -> Iterator[Row]:
        """The operations and records of every client, in the order of the file; raises BadFile."""
        for line in lines_of(self.file):
            number = self._step(line)
            process = self._process(line)
            if line.type == "invoke":
                yield from self._abandon(process)
                process.begun, process.number, process.called = line, number, self._now
                continue
            begun = process.begun
            if begun is not None and begun.f != line.f:
                yield from self._abandon(process)
                begun = None
            if begun is None:
                process.called = process.returned + 1 if process.returned else 0
            elif line.value is None:
                line.value = begun.value
            process.begun = None
            yield from self._completed(process, line, number, self._now)
            process.returned = self._now
        for process in self._processes.values():
            yield from self._abandon(process)

    def clients(self, settings: Settings) -> Iterator[Client]:
        """One row a process, with what is assumed of all."""
        subscribes = self.subscribes if settings.subscribe is None else settings.subscribe
        for process in self._processes.values():
            yield Client(
                client=process.name,
                library="jepsen",
                acks=settings.acks,
                idempotence=settings.idempotence,
                isolation=settings.isolation,
                mode="subscribe" if subscribes else "assign",
            )

    def _step(self, line: JepsenOperation) -> int:
        """The clock goes on with every line, by a nanosecond if the file tells no better."""
        self._now = max(self._now + 1, line.time or 0)
        self._index = self._index + 1 if line.index is None else max(self._index + 1, line.index)
        return self._index

    def _process(self, line: JepsenOperation) -> _Process:
        assert line.process is not None
        process = self._processes.get(line.process)
        if process is None:
            process = self._processes[line.process] = _Process(f"process {line.process}")
        return process

    def _abandon(self, process: _Process) -> Iterator[Row]:
        """What was begun never returned: it may have happened."""
        line, process.begun = process.begun, None
        if line is not None:
            line.type = "info"
            yield from self._completed(process, line, process.number, None)

    def _completed(self, process: _Process, line: JepsenOperation, op: int, returned: int | None) -> Iterator[Row]:
        self.operations += 1
        if line.f in ASSIGNS:
            yield from self._assigned(process, line, op, returned)
        else:
            yield from self._moved(process, line, op, returned)

    def _assigned(self, process: _Process, line: JepsenOperation, op: int, returned: int | None) -> Iterator[Row]:
        keys = keys_of(self.file, line, line.value)
        topics = {self.legend.key(key)[1] for key in keys}
        self.subscribes = self.subscribes or line.f == "subscribe"
        if line.type != "fail":
            process.keep_only(topics)
        for topic in sorted(topics) or (None,):
            yield self._operation(process, line, op, returned, topic)

    def _moved(self, process: _Process, line: JepsenOperation, op: int, returned: int | None) -> Iterator[Row]:
        topics: dict[str, int | None] = {}
        outcome = str(line.type)
        for move in moves_of(self.file, line):
            sent = isinstance(move, SendOp)
            key, topic = self.legend.key(move.key, guess=not isinstance(move, SendOp) and move.guess)
            place = process.place(topic)
            if sent:
                position, place.sent = place.sent, place.sent + 1
                if topics.get(topic) is None:
                    topics[topic] = move.offset
            else:
                position, place.polled = place.polled, place.polled + 1
                topics.setdefault(topic, None)
            yield Record(
                op=op,
                client=process.name,
                topic=topic,
                partition=0,
                offset=move.offset,
                value=self.legend.value(key, move.value),
                side="sent" if sent else "seen",
                stream=place.stream,
                position=position,
                outcome=outcome,
            )
        for topic, base in topics.items():
            yield self._operation(process, line, op, returned, topic, base)
        if not topics:
            yield self._operation(process, line, op, returned, None)
        for topic in rebalanced_of(self.file, line) & topics.keys():
            yield Event(kind="rebalance", at_ns=returned or self._now, client=process.name, topic=topic, partition=0)

    def _operation(
        self,
        process: _Process,
        line: JepsenOperation,
        op: int,
        returned: int | None,
        topic: str | None,
        base: int | None = None,
    ) -> Operation:
        return Operation(
            op=op,
            client=process.name,
            kind=str(line.f),
            topic=topic,
            partition=None if topic is None else 0,
            call_ns=process.called,
            return_ns=returned,
            outcome=str(line.type),
            base_offset=base,
        )


def import_jepsen(file: Path, folder: Path, settings: Settings) -> Jepsen:
    """Writes what the file tells as a history into an empty folder; raises BadFile, HistoryWriteFailed."""
    reader = Jepsen(file)
    with Recorder.create(folder, Header(case="jepsen", target=file.name)) as recorder:
        for row in reader.rows():
            recorder.add(row)
        for client in reader.clients(settings):
            recorder.add(client)
        if settings.ww_edges:
            recorder.event(WW_EDGES)
    return reader
