"""no-progress: its definition once more, as loops, how it is put into a legal history."""

from collections.abc import Iterator

from brokertrial.histories.rows import Client, Event, Operation
from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.oracle.progress import asking
from tests.checkers.wounds import SECOND, Expected, Wound

MINUTE_NS = 60_000_000_000


def oracle(facts: Facts) -> Iterator[OracleRow]:
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
    for row in asking(facts):
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


def inject_no_progress(w: Wound) -> Expected:
    w.add(Event(kind="window-begin", at_ns=1, window="w1"))
    w.add(Event(kind="window-healed", at_ns=w.end - 1, window="w1"))
    w.add(Client(client="fresh", library="wire", acks=-1))
    partition = w.rng.randrange(4)
    late = {"return_ns": w.end + 61 * SECOND, "outcome": "info"}
    one = w.op(kind="send", client="fresh", topic="t", partition=partition, **late)
    return w.told("no-progress", one, op_a=one.op)
