"""at-least-once: its definition once more, as loops, how it is put into a legal history."""

from collections.abc import Iterator

from brokertrial.histories.rows import Record
from tests.checkers.oracle.commits import FOREVER, writes
from tests.checkers.oracle.delivery import final_reads
from tests.checkers.oracle.facts import Facts, OracleRow, same_place
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
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


def inject_at_least_once(w: Wound) -> Expected:
    copy = w.sent("to")
    w.hide(copy, "rc")
    source = w.all(Record, side="sent", value=copy.derived_from)[0]
    return w.told("at-least-once", source, offset_a=source.offset)
