"""What is certain as soon as clients see it: the load of a trial ends there, for more of it would tell no more.

    offset-reuse                acknowledged at offset 7: a, and later b
    inconsistent-offsets        offset 7 held a for one reader and b for another, or for who sent b
    phantom                     a record whose bytes, headers or times are not those of its writer
    duplicate                   a value of an idempotent producer at offsets 7 and 9
    lost-write, poll-skip       a stream went from 6 to 8, and 7 was acknowledged outside of any transaction
    nonmonotonic-poll           a stream delivered 7 after 7
    aborted-read                a reader at read_committed was given what was aborted, and never asked to be committed
    high-watermark-regression   asked after an answer that told more, in the same leader epoch
    lso-regression              the same of the last stable offset

Each is named after the check that finds it in the history, with or without what comes later. No verdict comes from
here: the trial heals, reads everything and is judged as ever. A sighting that no check confirms is a mistake of ours,
and is called that.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator
from typing import Any

from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import Client, Operation, PartitionId, Record, Row

LONGEST_GAP = 1_000
"""Offsets of a gap that are remembered, for a record that is acknowledged there later."""
ENDS = {"high_watermark": "high-watermark-regression", "last_stable": "lso-regression"}


class WatchedRecorder:
    """A recorder of which every row is kept until it was looked at."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._rows: deque[Row] = deque()
        self.next_op: Callable[[], int] = recorder.next_op
        self._closed = False

    def add(self, row: Row) -> None:
        """Records the row, and leaves it to be looked at."""
        self._recorder.add(row)
        if not self._closed:
            self._rows.append(row)

    def close(self) -> None:
        """Nobody looks any more."""
        self._closed = True
        self._rows.clear()

    def taken(self) -> Iterator[Row]:
        """The rows that came since the last time."""
        for _ in range(len(self._rows)):
            yield self._rows.popleft()

    def event(self, kind: str, **fields: Any) -> None:
        """As of a recorder: events show nothing here."""
        self._recorder.event(kind, **fields)


class Sightings:
    """Looks at the rows of a trial as they come, in one thread; `first` is the first thing that is certain."""

    def __init__(self, watched: WatchedRecorder, cleaned: Collection[str] = ()) -> None:
        self.first = ""
        self._watched = watched
        self._cleaned = frozenset(cleaned)
        """Topics whose records go by right."""
        self._durable: set[str] = set()
        self._idempotent: set[str] = set()
        self._committed_only: set[str] = set()
        self._acked: dict[PartitionId, dict[int, int]] = defaultdict(dict)
        self._seen: dict[PartitionId, dict[int, int | None]] = defaultdict(dict)
        self._passed: dict[PartitionId, set[int]] = defaultdict(set)
        self._plain: dict[PartitionId, set[int]] = defaultdict(set)
        """Offsets acknowledged outside of any transaction."""
        self._where: dict[int, tuple[PartitionId, int]] = {}
        self._doubled: set[int] = set()
        self._sender: dict[int, str] = {}
        self._transactions = _Transactions()
        self._ends: dict[tuple[str, PartitionId, int], tuple[int, int]] = {}

    def look(self) -> bool:
        """Looks at what came since the last time; whether anything is certain."""
        for row in self._watched.taken():
            if isinstance(row, Record):
                if row.value is not None and row.side == "sent":
                    self._sent(row, row.value)
                elif row.side == "seen" and row.offset is not None:
                    self._delivered(row, row.offset)
            elif isinstance(row, Operation):
                self._asked(row)
            elif isinstance(row, Client):
                self._met(row)
        return bool(self.first)

    def _met(self, client: Client) -> None:
        known = (
            (self._durable, client.acks == -1),
            (self._idempotent, client.idempotence or client.transactional_id is not None),
            (self._committed_only, client.isolation == "read_committed"),
        )
        for clients, belongs in known:
            if belongs:
                clients.add(client.client)

    def _sent(self, row: Record, value: int) -> None:
        if value in self._sender:  # the workload itself sent it twice
            self._doubled.discard(value)
            self._sender[value] = ""
            return
        self._sender[value] = row.client
        if value in self._doubled and row.client in self._idempotent:
            self._say("duplicate", row)
        if row.txn is not None and self._transactions.sent(row.txn, value):
            self._say("aborted-read", row)
        if row.outcome != "ok" or row.offset is None or row.client not in self._durable:
            return
        place, offset = (str(row.topic), int(row.partition or 0)), row.offset
        if self._acked[place].setdefault(offset, value) != value:
            self._say("offset-reuse", row)
        if self._seen[place].get(offset, value) != value:
            self._say("inconsistent-offsets", row)
        if row.txn is None:
            self._plain[place].add(offset)
            if offset in self._passed[place]:
                self._say("lost-write or poll-skip", row)

    def _delivered(self, row: Record, offset: int) -> None:
        place, value = (str(row.topic), int(row.partition or 0)), row.value
        if not row.intact or value is None:
            self._say("phantom", row)
            return
        if self._seen[place].setdefault(offset, value) != value or self._acked[place].get(offset, value) != value:
            self._say("inconsistent-offsets", row)
        if self._where.setdefault(value, (place, offset)) != (place, offset):
            self._twice(row, value, place)
        if row.prev_offset is not None and offset != row.prev_offset + 1:
            self._jumped(row, place, row.prev_offset, offset)
        if row.client in self._committed_only and self._transactions.delivered(value):
            self._say("aborted-read", row)

    def _twice(self, row: Record, value: int, place: PartitionId) -> None:
        if self._where[value][0] != place:  # of one that was sent to another partition the check has its own opinion
            return
        self._doubled.add(value)
        if self._sender.get(value, "") in self._idempotent:
            self._say("duplicate", row)

    def _jumped(self, row: Record, place: PartitionId, before: int, offset: int) -> None:
        if offset <= before:
            self._say("nonmonotonic-poll", row)
        elif place[0] not in self._cleaned and offset - before <= LONGEST_GAP:
            passed = range(before + 1, offset)
            self._passed[place].update(passed)
            if not self._plain[place].isdisjoint(passed):
                self._say("lost-write or poll-skip", row)

    def _asked(self, row: Operation) -> None:
        if row.txn is not None and row.kind in ("commit_txn", "abort_txn"):
            if self._transactions.ended(row.txn, aborted=row.kind == "abort_txn" and row.outcome == "ok"):
                self._say("aborted-read", row)
        elif row.leader_epoch is not None and row.leader_epoch >= 0 and row.kind in ("fetch", "list_offsets"):
            for quantity, name in ENDS.items():
                level = getattr(row, quantity)
                if row.outcome == "ok" and row.return_ns is not None and level is not None and level >= 0:
                    self._told(row, name, level, row.return_ns, row.leader_epoch)

    def _told(self, row: Operation, name: str, level: int, return_ns: int, epoch: int) -> None:
        key = name, (str(row.topic), int(row.partition or 0)), epoch
        most, since_ns = self._ends.get(key, (-1, 0))
        if level > most:
            self._ends[key] = level, return_ns
        elif level < most and row.call_ns > since_ns:
            self._say(name, row)

    def _say(self, name: str, row: Record | Operation) -> None:
        place = f" in {row.topic}-{row.partition}" if row.topic is not None else ""
        self.first = self.first or f"{name}{place} (operation {row.op})"


class _Transactions:
    """Which values were aborted for certain, and which of them a reader at read_committed was given."""

    def __init__(self) -> None:
        self._values: dict[int, list[int]] = defaultdict(list)
        self._of: dict[int, int] = {}
        self._aborted: set[int] = set()
        self._maybe_committed: set[int] = set()
        self._read: set[int] = set()

    def sent(self, txn: int, value: int) -> bool:
        """A record was sent in a transaction; each of these says whether an aborted one is known to have been read."""
        self._values[txn].append(value)
        self._of[value] = txn
        return txn in self._aborted and value in self._read

    def delivered(self, value: int) -> bool:
        """A reader at read_committed was given it."""
        self._read.add(value)
        return self._of.get(value) in self._aborted

    def ended(self, txn: int, aborted: bool) -> bool:
        """A transaction was ended, or its end asked for; one that may have been committed counts for nothing."""
        if not aborted:
            self._maybe_committed.add(txn)
        if not aborted or txn in self._maybe_committed:
            return False
        self._aborted.add(txn)
        return not self._read.isdisjoint(self._values[txn])
