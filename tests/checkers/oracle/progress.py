"""no-progress, longest-gap and at-least-once: their definitions."""

from collections.abc import Iterator
from itertools import pairwise

from brokertrial.histories.rows import Operation
from tests.checkers.oracle.commits import FOREVER, writes
from tests.checkers.oracle.delivery import final_reads
from tests.checkers.oracle.facts import Facts, OracleRow, same_place

MINUTE_NS = 60_000_000_000


def _asking(facts: Facts) -> list[Operation]:
    asked = ("commit", "committed")
    return [
        row
        for row in facts.operations
        if (row.kind == "send" and row.topic is not None)
        or (row.kind in asked and row.group is not None and row.txn is None)
    ]


def no_progress(facts: Facts) -> Iterator[OracleRow]:
    """Asked for a minute after the heal, and never acknowledged."""
    begun = {event.window for event in facts.events if event.kind == "window-begin"}
    healed: dict[str | None, int] = {}
    for event in facts.events:
        if event.kind == "window-healed" and event.window in begun and event.window is not None:
            healed[event.window] = max(event.at_ns, healed.get(event.window, event.at_ns))
    if not begun or begun != healed.keys():
        return
    heal = max(healed.values())
    end = max((row.return_ns for row in facts.operations if row.return_ns is not None), default=None)
    lanes: dict[tuple[str, str | None, int | None, str | None], list[Operation]] = {}
    for row in _asking(facts):
        if row.call_ns >= heal:
            lanes.setdefault((row.kind, row.topic, row.partition, row.group), []).append(row)
    for (_, topic, partition, group), rows in lanes.items():
        last = max(_answered(row, end) for row in rows)
        if any(row.outcome == "ok" for row in rows) or last - min(row.call_ns for row in rows) < MINUTE_NS:
            continue
        ops = [row.op for row in rows]
        raw = any(row.client in facts.clients and facts.clients[row.client].library == "wire" for row in rows)
        yield {
            "topic": topic,
            "partition": partition,
            "group_id": group,
            "op_a": min(ops),
            "op_b": max(ops) if max(ops) > min(ops) else None,
            "attribution": "broker" if raw else "unknown",
        }


def _answered(row: Operation, end: int | None) -> int:
    if row.return_ns is not None:
        return row.return_ns
    return row.call_ns if end is None else end


def longest_gap(facts: Facts) -> Iterator[OracleRow]:
    """The longest time between two acknowledgements of one kind."""
    answers: dict[str, set[tuple[int, int]]] = {}
    for row in _asking(facts):
        if row.outcome == "ok" and row.return_ns is not None:
            answers.setdefault(row.kind, set()).add((row.return_ns, row.op))
    gaps = []
    for of_kind in answers.values():
        for (before, one), (after, op) in pairwise(sorted(of_kind)):
            if after > before:
                gaps.append((after - before, -op, one, after))
    if gaps:
        _, op, before, after = max(gaps)
        yield {"op_a": before, "op_b": -op, "fault": _newest_fault(facts, after)}


def _newest_fault(facts: Facts, until_ns: int) -> str:
    """The window that had begun last; of those that began at one moment, the last by name."""
    begun: dict[str, int] = {}
    for event in facts.events:
        if event.kind == "window-begin" and event.window is not None:
            begun[event.window] = min(event.at_ns, begun.get(event.window, event.at_ns))
    return max(((at_ns, window) for window, at_ns in begun.items() if at_ns <= until_ns), default=(0, "none"))[1]


def at_least_once(facts: Facts) -> Iterator[OracleRow]:
    """Committed outside transactions as done with, and no copy of it was seen, though the output was read."""
    copies = [row for row in facts.sent if row.derived_from is not None]
    plain = [row for row in copies if row.txn is None]
    if not {(row.topic, row.partition) for row in plain} <= final_reads(facts).keys():
        return
    shown = {row.value for row in facts.seen}
    inputs = [row for row in facts.sent if row.outcome == "ok" and row.offset is not None and row.derived_from is None]
    sources = {row.derived_from for row in plain}
    for row in inputs:
        copied = [each.offset or 0 for each in inputs if same_place(each, row) and each.value in sources]
        if not copied or (row.offset or 0) < min(copied):
            continue
        if any(copy.derived_from == row.value and copy.value in shown for copy in copies):
            continue
        past = [
            write
            for write in writes(facts)
            if same_place(write.row, row)
            and write.done < FOREVER
            and write.row.txn is None
            and (write.row.committed_offset or 0) > (row.offset or 0)
        ]
        if past:
            calls = [write.call for write in past]
            kept = [
                copy.op
                for copy in plain
                if copy.derived_from == row.value and copy.outcome == "ok" and facts.durable(copy.client)
                for call in facts.operations
                if call.op == copy.op and same_place(call, copy)
                if call.return_ns is not None and call.return_ns < max(calls)
            ]
            yield {
                "topic": row.topic,
                "partition": row.partition,
                "offset_a": row.offset,
                "offset_b": max(write.row.committed_offset or 0 for write in past),
                "value_a": row.value,
                "op_a": row.op,
                "op_b": min(write.row.op for write in past),
                "op_c": min(kept, default=None),
                "attribution": "broker" if kept else "client",
            }
