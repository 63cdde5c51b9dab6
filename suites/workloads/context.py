"""Where the clients of a trial act: the way to the broker, the history, names, the counters that phases wait for."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, NamedTuple, Protocol

import msgspec

from brokertrial.faults.client_aliases import ClientAliases
from brokertrial.faults.clock import OperationClock
from brokertrial.histories.clock import now_ns
from brokertrial.histories.rows import Operation, PartitionId, Row
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.promptness import counted_ms
from brokertrial.suites.workloads.operation import RecordedCall, recorded

ASSIGNED = "rebalance"
"""The kind of the event that tells that a member was given its partitions."""

LONGEST_WAIT_FOR_REPLICAS_MS = 3_000
"""How long a broker may wait for its replicas, however slow it is: it must answer while it is still isolated."""


class RowWriter(Protocol):
    """What clients tell their history: a recorder, or one that is watched."""

    @property
    def next_op(self) -> Callable[[], int]: ...

    def add(self, row: Row) -> None: ...

    def event(self, kind: str, **fields: Any) -> None: ...


class Abandonable(Protocol):
    """A producer whose thread may never come back."""

    def abandon(self) -> None: ...


class Lagging(NamedTuple):
    """A reader that has not been delivered what it must reach."""

    reader: str
    place: PartitionId
    position: int
    """Where it stands: the offset that it is to be delivered next."""
    goal: int

    def __str__(self) -> str:
        return f"{self.reader} at {self.place[0]}-{self.place[1]}"

    @property
    def is_client(self) -> bool:
        """Whether it is the name of one client, and not of a group of them."""
        return " " not in self.reader


class WorkloadContext:
    """Shared by all clients of one trial; every method may be called from any thread."""

    def __init__(
        self,
        case_context: CaseContext,
        bootstrap: str,
        recorder: RowWriter,
        topics: Mapping[str, int],
        groups: list[str],
        new_name: Callable[[str], str],
        saw_statistics: Callable[[str, str], None],
    ) -> None:
        self.case_context = case_context
        self.bootstrap = bootstrap
        self.recorder = recorder
        self.topics = dict(topics)
        self.groups = groups
        self.new_name = new_name
        self.saw_statistics = saw_statistics
        self._aliases = ClientAliases(case_context.prefix, case_context.salt)
        self.clock = OperationClock()
        self.stopping = threading.Event()
        self.hurried = threading.Event()
        """Nobody waits for the answers still due."""
        self.problems: list[str] = []
        self.hung_calls: list[str] = []
        self.writers: list[Abandonable] = []
        """All producers there ever were."""
        self.taken_over: set[str] = set()
        """Transactional ids that a fresh client holds for now: ours that were fenced wait, and do not fence it."""
        self.next_stream = itertools.count(1).__next__
        self.next_txn = itertools.count(1).__next__
        self.next_commit = itertools.count(1).__next__
        self._next_writer = itertools.count(1).__next__
        self._lock = threading.Lock()
        self._acked = 0
        self._acked_at: dict[str, int] = {}
        self._acked_offset: dict[PartitionId, int] = {}
        self._acked_outside: dict[PartitionId, int] = {}
        self._seen_offset: dict[tuple[str, PartitionId], int] = {}
        self._log_start: dict[PartitionId, int] = {}
        self.log_starts_risen = 0
        self.assignments = 0

    @property
    def places(self) -> list[PartitionId]:
        """Every partition of the trial."""
        return [(topic, index) for topic, count in self.topics.items() for index in range(count)]

    def random(self, who: str) -> Random:
        """A stream of randomness of one client's own."""
        return Random(f"{self.case_context.seed}/{self.case_context.case}/{who}")

    def value_range(self) -> itertools.count[int]:
        """Values that no other writer of the history gives out."""
        return itertools.count(self._next_writer() << 40)

    # what is recorded

    def invoked(self, kind: str, client: str, place: PartitionId | None = None) -> Operation:
        """The row of a call that is invoked now, ok so far. It ticks the operation clock."""
        self.clock.tick()
        topic, partition = place or (None, None)
        return Operation(
            op=self.recorder.next_op(),
            client=client,
            kind=kind,
            topic=topic,
            partition=partition,
            call_ns=now_ns(),
            outcome="ok",
        )

    def call(
        self, kind: str, client: str, place: PartitionId | None = None, **known: Any
    ) -> contextlib.AbstractContextManager[RecordedCall]:
        """Records the call of a client that is made in the block: see `recorded`."""
        row = msgspec.structs.replace(self.invoked(kind, client, place), **known)
        return recorded(RecordedCall(row), self.recorder.add)

    # what the phases wait for

    def acknowledged(self, what: str, count: int = 1) -> None:
        """Something was acknowledged: a send, a commit, a transaction; `what` names the thing that makes progress."""
        with self._lock:
            self._acked += count
            self._acked_at[what] = now_ns()

    def sent(self, place: PartitionId, offset: int, txn: int | None = None) -> None:
        """A record was acknowledged at an offset, in a transaction or outside of any."""
        with self._lock:
            self._acked += 1
            self._acked_at[f"sends to {place[0]}-{place[1]}"] = now_ns()
            self._acked_offset[place] = max(self._acked_offset.get(place, -1), offset)
            if txn is None:
                self._acked_outside[place] = max(self._acked_outside.get(place, -1), offset)

    def seen(self, reader: str, place: PartitionId, offset: int) -> None:
        """A reader was delivered a record."""
        with self._lock:
            key = (reader, place)
            self._seen_offset[key] = max(self._seen_offset.get(key, -1), offset)

    def log_starts_at(self, place: PartitionId, offset: int) -> None:
        """A client was told where the log of a partition starts."""
        with self._lock:
            if offset > self._log_start.get(place, 0):
                self._log_start[place] = offset
                self.log_starts_risen += 1

    def assigned(self, client: str, group: str, count: int) -> None:
        """A rebalance has given a member its partitions."""
        self.recorder.event(ASSIGNED, client=client, group=group, assigned=count)
        with self._lock:
            self.assignments += 1

    @property
    def acked(self) -> int:
        """Acknowledged operations so far."""
        return self._acked

    def stuck(self, since_ns: int, expected: list[str]) -> list[str]:
        """What has made no progress since then."""
        with self._lock:
            return [what for what in expected if self._acked_at.get(what, 0) <= since_ns]

    def behind(self, readers: Mapping[str, dict[PartitionId, int]]) -> list[Lagging]:
        """Readers that have not been delivered what they must reach: reader -> {partition: offset}."""
        with self._lock:
            return [
                Lagging(reader, place, seen + 1, offset)
                for reader, goals in readers.items()
                for place, offset in goals.items()
                if (seen := self._seen_offset.get((reader, place), -1)) < offset
            ]

    def acked_offsets(self, outside_transactions: bool = False) -> dict[PartitionId, int]:
        """The highest acknowledged offset of each partition."""
        with self._lock:
            return dict(self._acked_outside if outside_transactions else self._acked_offset)

    def trouble(self, sentence: str) -> None:
        """A client could not go on, by its own fault as far as anyone knows."""
        with self._lock:
            self.problems.append(sentence)

    def hung(self, sentence: str) -> None:
        """A call of the client library did not come back in its own time; another client takes its place."""
        with self._lock:
            self.hung_calls.append(sentence)

    # how clients are set

    def settings(self, client: str, **more: Any) -> dict[str, Any]:
        """librdkafka settings that notice a fault in seconds, not minutes; they grow with the target's latency."""
        slow = 1.0 + counted_ms(self.case_context.latency_ms) / 100
        return {
            "bootstrap.servers": self.bootstrap,
            "client.id": self._aliases.hide(client),
            "broker.address.family": "v4",
            "socket.timeout.ms": int(2_500 * slow),
            "retry.backoff.ms": 50,
            "retry.backoff.max.ms": 200,
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 200,
            "socket.connection.setup.timeout.ms": int(1_000 * slow) + 1_000,
            "topic.metadata.refresh.fast.interval.ms": 50,
            "topic.metadata.refresh.interval.ms": 500,
            "statistics.interval.ms": 1_000,
            "stats_cb": lambda text: self.saw_statistics(client, text),
            "error_cb": lambda error: None,
            "log_level": 0,
            **more,
        }

    def producer_settings(self, client: str, **more: Any) -> dict[str, Any]:
        """For a producer."""
        slow = 1.0 + counted_ms(self.case_context.latency_ms) / 100
        return self.settings(
            client,
            **{
                "request.timeout.ms": min(int(1_500 * slow), LONGEST_WAIT_FOR_REPLICAS_MS),
                "message.timeout.ms": 60_000,
                "linger.ms": 2,
                "acks": -1,
                **more,
            },
        )

    def consumer_settings(self, client: str, **more: Any) -> dict[str, Any]:
        """For a consumer."""
        return self.settings(
            client,
            **{
                "fetch.wait.max.ms": 100,
                "fetch.error.backoff.ms": 50,
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "auto.offset.reset": "earliest",
                "enable.partition.eof": False,
                "fetch.queue.backoff.ms": 20,
                **more,
            },
        )
