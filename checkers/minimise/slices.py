"""Where to look for an anomaly, from narrow to wide: its own operations, what lies beside them, its place, everything.

Only rows that match are read, so that the history may be larger than memory as long as one partition of it is not.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from operator import or_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.minimise.part import CONTEXT, SHARED, HistorySlice
from brokertrial.histories.reader import History
from brokertrial.histories.tables import schema_of

BESIDE = 3
"""Offsets on either side of those that an anomaly names."""

Filters = dict[str, pc.Expression | None]
Slice = Callable[[], HistorySlice]


def slices(history: History, anomaly: Anomaly) -> Iterator[Slice]:
    """Parts that may show the anomaly, each wider than the one before; the last is the whole history."""
    reader = _SliceReader(history)
    own = list(anomaly.operations)
    yield lambda: reader.part(_around(anomaly, own, _nearby(anomaly)))
    yield lambda: reader.part(_around(anomaly, *_linked(reader, anomaly)))
    yield lambda: reader.part(_everything_at(reader, anomaly))
    yield lambda: reader.part(dict.fromkeys(SHARED))


class _SliceReader:
    """Reads the rows of a history that match."""

    def __init__(self, history: History) -> None:
        self.history = history

    def table(self, name: str, filter: pc.Expression | None) -> pa.Table:
        """The matching rows; a column that the history lacks is null."""
        schema = schema_of(name)
        files = self.history.parts(name)
        if not files:
            return schema.empty_table()
        loose = pa.schema([field.with_nullable(True) for field in schema])
        return ds.dataset([str(file) for file in files], schema=loose, format="parquet").to_table(filter=filter)

    def part(self, filters: Filters) -> HistorySlice:
        """All tables, each by its filter; null takes everything, and a table without a filter is left out."""
        never = pc.scalar(False)
        tables = {name: self.table(name, filters.get(name, never)) for name in SHARED}
        return HistorySlice(self.history.header, self.history.title.started_ns, tables)

    def distinct(self, name: str, column: str, filter: pc.Expression) -> list[Any]:
        """What stands in a column of the matching rows."""
        return [value for value in self.table(name, filter)[column].unique().to_pylist() if value is not None]


def _around(anomaly: Anomaly, operations: Sequence[int], records: pc.Expression) -> Filters:
    """These operations with those of their records that match, and what the wire and the clock saw of the place."""
    return {
        "clients": None,
        "operations": _among("op", operations),
        "records": _among("op", operations) & records,
        "batches": _place(anomaly) & _overlaps(anomaly),
        "memberships": _owned(anomaly),
        "events": _told(anomaly),
    }


def _linked(reader: _SliceReader, anomaly: Anomaly) -> tuple[list[int], pc.Expression]:
    """The operations on the same values, offsets and transactions; and which of their records to take along."""
    records = _nearby(anomaly) | _among("op", anomaly.operations)
    values = reader.distinct("records", "value", records & (_nearby(anomaly)))
    txns = reader.distinct("records", "txn", _among("value", values))
    txns += reader.distinct("operations", "txn", _among("op", anomaly.operations))
    wanted = _nearby(anomaly) | _among("value", values) | _among("derived_from", values) | _among("txn", txns)
    operations = set(anomaly.operations) | set(reader.distinct("records", "op", wanted))
    operations |= set(reader.distinct("operations", "op", _among("txn", txns)))
    if anomaly.group is not None:
        operations |= set(reader.distinct("operations", "op", pc.field("group") == anomaly.group))
    return sorted(operations), wanted


def _everything_at(reader: _SliceReader, anomaly: Anomaly) -> Filters:
    here = _place(anomaly)
    if anomaly.group is not None:
        operations = here | (pc.field("group") == anomaly.group)
    else:
        operations = here
    txns = reader.distinct("operations", "txn", operations | _among("op", anomaly.operations))
    txns += reader.distinct("records", "txn", here)
    return {
        "clients": None,
        "operations": operations | _among("txn", txns) | _among("op", anomaly.operations),
        "records": here | _among("txn", txns) | _among("op", anomaly.operations),
        "batches": here,
        "memberships": _owned(anomaly),
        "events": None,
    }


def _place(anomaly: Anomaly) -> pc.Expression:
    if anomaly.topic is None:
        return pc.scalar(True)
    if anomaly.partition is None:
        return pc.field("topic") == anomaly.topic
    return (pc.field("topic") == anomaly.topic) & (pc.field("partition") == anomaly.partition)


def _nearby(anomaly: Anomaly) -> pc.Expression:
    """Records of the values that it names, and those at its offsets and beside them."""
    found = [_among("value", anomaly.values), _among("derived_from", anomaly.values)]
    for offset in anomaly.offsets:
        near = (pc.field("offset") >= offset - BESIDE) & (pc.field("offset") <= offset + BESIDE)
        found.append(_place(anomaly) & near)
    return reduce(or_, found)


def _overlaps(anomaly: Anomaly) -> pc.Expression:
    if not anomaly.offsets:
        return pc.scalar(True)
    low, high = min(anomaly.offsets) - BESIDE, max(anomaly.offsets) + BESIDE
    spans = [
        (pc.field("base_offset") <= offset + BESIDE) & (pc.field("last_offset") >= offset - BESIDE)
        for offset in (anomaly.offsets if high - low > 64 else ())
    ]
    return reduce(or_, spans) if spans else (pc.field("base_offset") <= high) & (pc.field("last_offset") >= low)


def _owned(anomaly: Anomaly) -> pc.Expression:
    return _place(anomaly) if anomaly.group is None else _place(anomaly) & (pc.field("group") == anomaly.group)


def _told(anomaly: Anomaly) -> pc.Expression:
    """Settings of topics, what is said of the place, and what is said of none: faults, rebalances of its group."""
    general = pc.field("topic").is_null() & pc.field("kind").isin(["window-begin", "window-end", "window-healed"])
    return (pc.field("kind") == CONTEXT) | _place(anomaly) | general


def _among(name: str, values: Iterable[int]) -> pc.Expression:
    wanted = list(values)
    return pc.field(name).isin(pa.array(wanted, pa.int64())) if wanted else pc.scalar(False)
