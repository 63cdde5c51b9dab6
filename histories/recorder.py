"""Records a history: any thread adds rows, one background thread turns them into Parquet parts, in bounded memory."""

import itertools
import threading
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import blake2b
from os import getpid
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from brokertrial.histories import clock
from brokertrial.histories.header import Header, HistoryWriteFailed, Title, write_title
from brokertrial.histories.parts import PartWriter
from brokertrial.histories.rows import TABLES, Event, Row

PART_ROWS = 100_000
PART_SECONDS = 1.0
BACKLOG_ROWS = 4 * PART_ROWS
CLOSE_SECONDS = 120.0
_EVENT_COLUMNS = frozenset(Event.__struct_fields__)


class Recorder:
    """Writes one history folder. `add` is a queue append; a full disk shows as HistoryWriteFailed, never as a hang.

    A killed run loses at most what was added since the last part (a second, or 100,000 rows of a table).
    """

    def __init__(self, folder: Path, title: Title) -> None:
        """Use `Recorder.create`."""
        self.folder = folder
        self.title = title
        self._ops = itertools.count(1)
        self._queues: dict[type[Row], deque[Row]] = {kind: deque() for kind in TABLES.values()}
        self._parts = PartWriter(folder, title.identity)
        self._failure: BaseException | None = None
        self._wake = threading.Event()
        self._drained = threading.Condition()
        self._closing = False
        self._closed = False
        self._thread = threading.Thread(target=self._write_until_closed, name="history-writer", daemon=True)
        self.next_op: Callable[[], int] = self._ops.__next__
        """The next operation id: unique in the history, increasing, safe from any thread."""

    @classmethod
    def create(cls, folder: Path | str, header: Header) -> "Recorder":
        """Starts a history in a folder that must not hold one yet."""
        folder = Path(folder)
        title = Title(
            identity=_identity(header),
            clock=clock.KIND,
            started_ns=clock.now_ns(),
            started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            header=header,
        )
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                raise HistoryWriteFailed(f"{folder} is not empty: a history needs a folder of its own.")
            write_title(folder, title)
        except OSError as problem:
            why = problem.strerror or problem
            raise HistoryWriteFailed(f"the history in {folder} cannot be started: {why}.") from problem
        recorder = cls(folder, title)
        recorder._thread.start()
        recorder.event("recording", at_ns=title.started_ns, case=header.case)
        return recorder

    def add(self, row: Row) -> None:
        """Adds a row to its table. Waits only for a disk so slow that 400,000 rows of the table are queued."""
        queue = self._queues[row.__class__]
        queue.append(row)
        waiting = len(queue)
        if waiting >= PART_ROWS:
            self._wake.set()
            if waiting >= BACKLOG_ROWS:
                self._wait_for_room(queue)
        if self._failure is not None:
            queue.clear()
            self._raise_failure()

    def event(self, kind: str, **fields: Any) -> None:
        """Adds an event that happened now (or at `at_ns`); fields that are no columns are kept as JSON."""
        columns = {name: value for name, value in fields.items() if name in _EVENT_COLUMNS}
        others = {name: value for name, value in fields.items() if name not in _EVENT_COLUMNS}
        if others:
            columns["fields"] = msgspec.json.encode(others).decode()
        self.add(Event(kind=kind, at_ns=columns.pop("at_ns", None) or clock.now_ns(), **columns))

    def close(self, complete: bool = True) -> None:
        """Writes what is left, then the footer; `complete=False` marks it as cut short. Safe to call twice."""
        if self._closed:
            return
        self._closed = True
        self._closing = True
        self._wake.set()
        self._thread.join(CLOSE_SECONDS)
        if self._thread.is_alive():
            raise HistoryWriteFailed(
                f"the history in {self.folder} is still unwritten {CLOSE_SECONDS:.0f} s after its end."
            )
        if self._failure is not None:
            self._raise_failure()
        self.title.closed_ns = clock.now_ns()
        self.title.parts = self._parts.written
        self.title.complete = complete
        try:
            write_title(self.folder, self.title)
        except OSError as problem:
            self._failure = problem
            self._raise_failure()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close(complete=kind is None)
        except HistoryWriteFailed:
            if kind is None:
                raise

    def _wait_for_room(self, queue: deque[Row]) -> None:
        with self._drained:
            self._drained.wait_for(
                lambda: len(queue) < BACKLOG_ROWS or self._failure is not None, timeout=CLOSE_SECONDS
            )
        if len(queue) >= BACKLOG_ROWS and self._failure is None:
            self._failure = TimeoutError(f"nothing was written for {CLOSE_SECONDS:.0f} s")

    def _raise_failure(self) -> None:
        problem = self._failure
        why = (isinstance(problem, OSError) and problem.strerror) or str(problem)
        raise HistoryWriteFailed(f"the history in {self.folder} cannot be written any further: {why}.") from problem

    def _write_until_closed(self) -> None:
        try:
            closing = False
            while not closing:
                self._wake.wait(PART_SECONDS)
                self._wake.clear()
                closing = self._closing
                for table, kind in TABLES.items():
                    self._drain(table, self._queues[kind])
        except BaseException as problem:  # noqa: BLE001 - whatever it is, the recording threads must learn of it
            self._failure = problem
        finally:
            with self._drained:
                self._drained.notify_all()

    def _drain(self, table: str, queue: deque[Row]) -> None:
        while queue:
            take = queue.popleft
            rows = [take() for _ in range(min(len(queue), PART_ROWS))]
            with self._drained:
                self._drained.notify_all()
            self._parts.write(table, rows)


def _identity(header: Header) -> str:
    """A name that no other history has: the same case and seed run again gets another one."""
    source = f"{header.seed}/{header.case}/{header.target}/{getpid()}/{datetime.now(UTC).timestamp()}/{clock.now_ns()}"
    return blake2b(source.encode(), digest_size=12).hexdigest()
