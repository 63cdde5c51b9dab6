"""cleaned-early: its definition once more, as loops, how it is put into a legal history."""

from collections.abc import Iterator

from brokertrial.histories.rows import Record
from tests.checkers.oracle.facts import Facts, OracleRow, same_place
from tests.checkers.oracle.limits import MS, cut, operation_of, settings, stamped_when_sent
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
    """Passed by a stream, in a compacted topic, before it was as old as it must become."""
    for row in facts.sent:
        lag_ms = settings(facts, row.topic).get("min_compaction_lag_ms") or 0
        call = operation_of(facts, row)
        if not facts.compacted(row.topic) or lag_ms <= 0 or facts.may_lose or cut(facts, row.topic, row.partition):
            continue
        if row.outcome != "ok" or row.offset is None or call is None or not facts.durable(row.client):
            continue
        if row.txn is not None and facts.transaction(row.txn) != "committed":
            continue
        jumps = []
        for seen in facts.seen:
            if not same_place(seen, row) or seen.prev_offset is None or seen.offset is None:
                continue
            poll = operation_of(facts, seen)
            if seen.prev_offset < row.offset < seen.offset and poll is not None and poll.return_ns is not None:
                young = poll.return_ns - call.call_ns < lag_ms * MS
                if young and stamped_when_sent(facts, row, call):
                    jumps.append(seen)
        if jumps:
            yield {
                "topic": row.topic,
                "partition": row.partition,
                "offset_a": row.offset,
                "offset_b": min(seen.offset for seen in jumps if seen.offset is not None),
                "value_a": row.value,
                "op_a": row.op,
                "op_b": min(seen.op for seen in jumps),
            }


def inject_cleaned_early(w: Wound) -> Expected:
    one = w.sent("k", where=lambda row: row.offset + 1 < w.length("k", 0))
    after = next(row for row in w.all(Record, side="sent", topic="k") if row.offset == one.offset + 1)
    at = w.operation(one).call_ns
    w.see(after, prev=one.offset - 1, call_ns=at, return_ns=at + 9)
    return w.told("cleaned-early", one, offset_a=one.offset)
