"""One history as plain lists, for the oracle: no SQL, no index, nothing clever."""

from collections.abc import Iterable
from functools import cached_property

import msgspec

from brokertrial.histories.header import Header
from brokertrial.histories.reader import History
from brokertrial.histories.rows import TABLES, Batch, Client, Event, Operation, Record, Row

OracleRow = dict[str, int | str | None]
"""One anomaly, with the column names of the queries (checkers/check.py)."""


class Facts:
    """The rows of a small history, and the few notions that all definitions use."""

    def __init__(self, header: Header, rows: Iterable[Row]) -> None:
        """Takes the rows in any order."""
        self.header = header
        self._rows = list(rows)

    @classmethod
    def of(cls, history: History) -> "Facts":
        """Reads a whole history into memory."""
        return cls(history.header, (row for table in TABLES for row in history.rows(table)))

    def rows(self, table: str) -> list[Row]:
        """The rows of one table."""
        return [row for row in self._rows if type(row) is TABLES[table]]

    @cached_property
    def clients(self) -> dict[str, Client]:
        """Clients by name."""
        return {row.client: row for row in self._rows if isinstance(row, Client)}

    @cached_property
    def operations(self) -> list[Operation]:
        """All operations."""
        return [row for row in self._rows if isinstance(row, Operation)]

    @cached_property
    def batches(self) -> list[Batch]:
        """What lies in the log, as the wire showed it."""
        return [row for row in self._rows if isinstance(row, Batch) and row.seen_at != "produce"]

    @cached_property
    def asked(self) -> list[Batch]:
        """Acknowledged appends without a sequence number, as they were asked for."""
        batches = (row for row in self._rows if isinstance(row, Batch) and row.seen_at == "produce")
        return [row for row in batches if row.producer_id < 0 and row.base_offset >= 0 and not row.error]

    @cached_property
    def events(self) -> list[Event]:
        """All events."""
        return [row for row in self._rows if isinstance(row, Event)]

    @cached_property
    def recreated(self) -> set[str]:
        """Topics that were deleted."""
        gone = ("delete_topic", "delete_topics")
        return {row.topic for row in self.operations if row.kind in gone and row.topic and row.outcome != "fail"}

    @cached_property
    def sent(self) -> list[Record]:
        """Records sent, of topics that were never deleted."""
        return [row for row in self._records("sent") if row.value is not None]

    @cached_property
    def found(self) -> list[Record]:
        """Records seen, whatever they are."""
        return [row for row in self._records("seen") if row.offset is not None]

    @cached_property
    def seen(self) -> list[Record]:
        """Records seen that name their value."""
        return [row for row in self.found if row.value is not None]

    @cached_property
    def shown(self) -> list[Record]:
        """Records seen that name their value, wherever they were."""
        return [row for row in self._rows if isinstance(row, Record) and row.side == "seen" and row.value is not None]

    def _records(self, side: str) -> list[Record]:
        records = [row for row in self._rows if isinstance(row, Record)]
        return [row for row in records if row.side == side and row.topic not in self.recreated]

    @property
    def may_lose(self) -> bool:
        """Whether a replica that lacks acknowledged records may become the leader."""
        return self.header.unclean_election and self.header.nodes != 1

    def durable(self, client: str) -> bool:
        """Whether an acknowledgement of this client binds every later leader."""
        acks = self.clients[client].acks
        return (acks == -1 and not self.may_lose) or (acks == 1 and self.header.nodes == 1)

    def idempotent(self, client: str) -> bool:
        """Whether the broker must tell its retries from new records."""
        return bool(self.clients[client].idempotence) or self.clients[client].transactional_id is not None

    def guarded(self, client: str) -> bool:
        """Whether nothing but the broker can store its records twice."""
        disturbed = any(event.kind == "window-begin" for event in self.events)
        return self.idempotent(client) or (self.clients[client].retries == 0 and not disturbed)

    def committed_only(self, client: str) -> bool:
        """Whether this reader reads at read_committed."""
        return self.clients[client].isolation == "read_committed"

    def compacted(self, topic: str) -> bool:
        """Whether records of the topic may be compacted away."""
        events = (event for event in self.events if event.kind == "topic" and event.topic == topic)
        return any("compact" in msgspec.json.decode(event.fields or "{}").get("cleanup_policy", "") for event in events)

    def low(self, topic: str, partition: int) -> int:
        """The lowest offset below which nothing was cut off; 0 when nothing was."""
        cuts = [0]
        for row in self.operations:
            if (row.topic, row.partition) == (topic, partition):
                cuts.append(row.log_start or 0)
                if row.kind == "delete_records" and row.outcome != "fail":
                    cuts.append(row.base_offset or 0)
        return max(cuts)

    def transaction(self, txn: int) -> str:
        """committed, aborted, unknown, or open (a commit was never asked for)."""
        commits = [row.outcome for row in self.operations if row.txn == txn and row.kind == "commit_txn"]
        aborts = [row.outcome for row in self.operations if row.txn == txn and row.kind == "abort_txn"]
        if "ok" in commits:
            return "committed"
        if "ok" in aborts:
            return "aborted"
        if all(outcome == "fail" for outcome in commits):
            return "open"
        written = {row.value for row in self.sent if row.txn == txn}
        shown = any(row.value in written and self.committed_only(row.client) for row in self.seen)
        return "committed" if shown else "unknown"

    def ended_by(self, txn: int | None) -> int | None:
        """The first operation that asked for the end of a transaction."""
        ends = ("commit_txn", "abort_txn")
        return min((row.op for row in self.operations if row.txn == txn and row.kind in ends), default=None)


def same_place(one: Record | Operation, other: Record | Operation) -> bool:
    """Whether both are about the same partition."""
    return one.topic == other.topic and one.partition == other.partition
