"""From the tables of a history to the logs that checkers/log.py judges, and back to rows of evidence."""

from collections.abc import Collection, Iterator, Mapping

import numpy as np
import pyarrow as pa

from checkers.check import Row
from checkers.log import APPEND, EXACT, SAW, Log, Violation, violations
from checkers.precedence import NEVER, Ints

PARTITIONS = "SELECT k.history, k.topic, k.partition, k.log FROM logs k"
APPENDS = "SELECT a.log, a.op, a.call_ns, a.return_ns, a.low, a.records FROM appends_by_log a"
ENDS = "SELECT k.log, o.op, o.call_ns, o.return_ns, o.low FROM ends o JOIN logs k ON {on}".format(
    on="k.history = o.history AND k.topic = o.topic AND k.partition = o.partition"
)
SIGHTS = "SELECT k.log, o.op, o.call_ns, o.return_ns, o.low FROM sights o JOIN logs k ON {on}".format(
    on="k.history = o.history AND k.topic = o.topic AND k.partition = o.partition"
)

_STORIES = {
    "append-order": (
        "The append of operation {op_b} began after operation {op_a} was acknowledged, "
        "but lies below it in {topic}-{partition}: at {offset_b}, although the log had reached {offset_a}."
    ),
    "read-from-future": (
        "{topic}-{partition} had reached {offset_a} in operation {op_a} "
        "before the append at {offset_b} (operation {op_b}) was sent."
    ),
    "torn-batch": (
        "{topic}-{partition} was said to end at {offset_b}, inside the batch of {op_a} that ends at {offset_a}."
    ),
    "stale-read": (
        "{topic}-{partition} was said to end at {offset_b}, although operation {op_a}, acknowledged before "
        "that was asked, had reached {offset_a}."
    ),
    "end-regression": "{topic}-{partition} was said to end at {offset_b}, after it had reached {offset_a}.",
}


def found_in(projections: Mapping[str, pa.Table], names: Collection[str]) -> Iterator[Row]:
    """The violations of these names in every partition, as rows."""
    by_log = logs(projections)
    for place in projections["partitions"].to_pylist():
        log = by_log.get(place["log"])
        if log is not None:
            yield from (_row(place, found) for found in violations(log) if found.name in names)


def _row(place: Row, found: Violation) -> Row:
    row = {
        "history": place["history"],
        "topic": place["topic"],
        "partition": place["partition"],
        "name": found.name,
        "op_a": found.q,
        "op_b": found.p,
        "offset_a": found.after,
        "offset_b": found.before,
        "strength": "integrity" if found.name == "torn-batch" else None,
    }
    return row | {"sentence": _STORIES[found.name].format(**row)}


def logs(projections: Mapping[str, pa.Table]) -> dict[int, Log]:
    """The operations on each partition, by the number that it has in the projections."""
    parts = [
        _columns(projections["appends"], APPEND),
        _columns(projections["ends"], EXACT),
        _columns(projections["sights"], SAW),
    ]
    number, *columns = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(number, kind="stable")
    edges = np.flatnonzero(np.diff(number[order])) + 1
    groups = np.split(order, edges) if len(order) else []
    return {int(number[group[0]]): Log(*(column[group] for column in columns)) for group in groups}


def _columns(table: pa.Table, kind: int) -> list[Ints]:
    """Log number, then the columns of Log."""
    rows = table.num_rows
    ret = table.column("return_ns").fill_null(NEVER)
    count = _ints(table.column("records")) if kind == APPEND else np.zeros(rows, dtype=np.int64)
    return [
        _ints(table.column("log")),
        np.full(rows, kind, dtype=np.int64),
        _ints(table.column("op")),
        _ints(table.column("call_ns")),
        _ints(ret),
        _ints(table.column("low")),
        count,
    ]


def _ints(column: pa.ChunkedArray) -> Ints:
    return np.asarray(column.to_numpy(), dtype=np.int64)
