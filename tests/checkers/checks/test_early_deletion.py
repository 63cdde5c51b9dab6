"""early-deletion: its definition once more, as loops, how it is put into a legal history."""

from collections.abc import Iterator

from brokertrial.histories.rows import Operation
from tests.checkers.oracle.facts import Facts, OracleRow, same_place
from tests.checkers.oracle.limits import MS, cut, deletes, operation_of, settings, stamped_when_sent
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
    """Below a log start that was told, though too young for retention, and cut by nobody."""
    starts: dict[tuple[str, int, int], list[Operation]] = {}
    for row in facts.operations:
        topic, partition = row.topic, row.partition
        if topic is None or partition is None or row.outcome != "ok" or not row.log_start or row.log_start <= 0:
            continue
        if row.return_ns is not None and topic not in facts.recreated and not cut(facts, topic, partition):
            starts.setdefault((topic, partition, row.log_start), []).append(row)
    for (topic, partition, start), told in starts.items():
        kept_ms = settings(facts, topic).get("retention_ms")
        forever = settings(facts, topic).get("retention_bytes") == -1
        if not _stated(facts, topic) or not deletes(facts, topic) or kept_ms is None or not forever:
            continue
        asked = min(each.return_ns for each in told if each.return_ns is not None)
        gone = [row for row in facts.sent if same_place(row, told[0]) and row.outcome == "ok"]
        young = []
        for each in (each for each in gone if each.offset is not None and each.offset < start):
            call = operation_of(facts, each)
            if call is None or all(other.timestamp is None for other in facts.sent):
                continue
            fresh = asked - call.call_ns < kept_ms * MS and stamped_when_sent(facts, each, call)
            if kept_ms == -1 or fresh:
                young.append(each)
        if young:
            yield {
                "topic": topic,
                "partition": partition,
                "offset_a": min(each.offset for each in young if each.offset is not None),
                "offset_b": start,
                "op_a": min(each.op for each in young),
                "op_b": min(each.op for each in told),
            }


def _stated(facts: Facts, topic: str) -> bool:
    return any(event.kind == "topic" and event.topic == topic for event in facts.events)


def inject_early_deletion(w: Wound) -> Expected:
    one = w.sent("d", where=lambda row: row.offset > w.legal.cut)
    at = w.operation(one).return_ns or 0
    w.op(kind="list_offsets", topic="d", partition=0, log_start=one.offset + 1, call_ns=at, return_ns=at + 1)
    return w.told("early-deletion", one, offset_b=one.offset + 1)
