"""From the tables of a history to the logs that checkers/linearizability/log.py judges, and back to rows of
evidence."""

from collections.abc import Collection, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from brokertrial.checkers.check import AnomalyRow
from brokertrial.checkers.linearizability.log import APPEND, EXACT, SAW, LogOperations, Violation, violations
from brokertrial.checkers.linearizability.many_logs import violations_of
from brokertrial.checkers.linearizability.precedence import NEVER, Int64Array

MANY = 100
"""Logs with fewer operations than this, on the average, are judged as one."""

PARTITIONS = "SELECT k.history, k.topic, k.partition, k.log FROM logs k"
APPENDS = "SELECT a.log, a.op, a.call_ns, a.return_ns, a.low, a.records FROM appends_by_log a"
ENDS = "SELECT k.log, o.op, o.call_ns, o.return_ns, o.low FROM ends o JOIN logs k ON {on}".format(
    on="k.history = o.history AND k.topic = o.topic AND k.partition = o.partition"
)
SIGHTS = "SELECT k.log, o.op, o.call_ns, o.return_ns, o.low FROM end_observations o JOIN logs k ON {on}".format(
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
        "{topic}-{partition} was reported to end at {offset_b}, inside the batch of {op_a} that ends at {offset_a}."
    ),
    "stale-read": (
        "{topic}-{partition} was reported to end at {offset_b}, although operation {op_a}, acknowledged before "
        "that request, had reached {offset_a}."
    ),
    "end-regression": "{topic}-{partition} was reported to end at {offset_b}, after it had reached {offset_a}.",
}


def found_in(projections: Mapping[str, pa.Table], names: Collection[str]) -> Iterator[AnomalyRow]:
    """The violations of these names in every partition, as rows."""
    chosen = [(number, found) for number, found in _violations(projections) if found.name in names]
    partitions = projections["partitions"]
    wanted = pa.array(sorted({number for number, _ in chosen}), pa.int64())
    places = partitions.filter(pc.is_in(partitions["log"].cast(pa.int64()), wanted)).to_pylist()
    by_log = {place["log"]: place for place in places}
    for number, found in chosen:
        yield _row(by_log[number], found)


def _violations(projections: Mapping[str, pa.Table]) -> Iterator[tuple[int, Violation]]:
    """Few logs one by one; many as one, because each by itself would cost more than what is in it."""
    number, together = _together(projections)
    if len(number) < MANY * projections["partitions"].num_rows:
        yield from violations_of(number, together)
        return
    for log, one in _apart(number, together).items():
        yield from ((log, found) for found in violations(one))


def _row(place: AnomalyRow, found: Violation) -> AnomalyRow:
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


def logs(projections: Mapping[str, pa.Table]) -> dict[int, LogOperations]:
    """The operations on each partition, by the number that it has in the projections."""
    return _apart(*_together(projections))


def _together(projections: Mapping[str, pa.Table]) -> tuple[Int64Array, LogOperations]:
    """The operations on all partitions, and the number of each one's partition."""
    parts = [
        _columns(projections["appends"], APPEND),
        _columns(projections["ends"], EXACT),
        _columns(projections["sights"], SAW),
    ]
    number, *columns = (np.concatenate(column) for column in zip(*parts, strict=True))
    return number, LogOperations(*columns)


def _apart(number: Int64Array, together: LogOperations) -> dict[int, LogOperations]:
    order = np.argsort(number, kind="stable")
    edges = np.flatnonzero(np.diff(number[order])) + 1
    groups = np.split(order, edges) if len(order) else []
    return {int(number[group[0]]): LogOperations(*(column[group] for column in together)) for group in groups}


def _columns(table: pa.Table, kind: int) -> list[Int64Array]:
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


def _ints(column: pa.ChunkedArray) -> Int64Array:
    return np.asarray(column.to_numpy(), dtype=np.int64)
