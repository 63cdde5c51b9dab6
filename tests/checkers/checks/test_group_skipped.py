"""group-skipped: its definition once more, as loops, how it is put into a legal history."""

from collections.abc import Iterator

from brokertrial.histories.rows import Record
from tests.checkers.oracle.facts import Facts, OracleRow, same_place
from tests.checkers.oracle.members import commits, offset, resumptions
from tests.checkers.picks import taken_over
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
    """Began above everything that may have been committed, past records that every reader must be shown."""
    for one in resumptions(facts):
        first, returned = one.row.offset or 0, one.call.return_ns or 0
        before = [write for write in commits(facts, one) if write.call <= returned]
        if not before or not any(write.done < returned for write in before):
            continue
        reach = max(offset(write) for write in before)
        between = {
            seen.offset
            for seen in facts.seen
            if same_place(seen, one.row)
            and seen.offset is not None
            and reach <= seen.offset < first
            and seen.offset >= facts.low(seen.topic, seen.partition)
            and not facts.compacted(seen.topic)
            and _shown_to_all(facts, seen)
        }
        if between:
            yield {
                "topic": one.row.topic,
                "partition": one.row.partition,
                "group_id": one.group,
                "offset_a": min(between),
                "offset_b": first,
                "value_b": one.row.value,
                "op_a": min(write.row.op for write in before),
                "op_b": one.row.op,
            }


def _shown_to_all(facts: Facts, seen: Record) -> bool:
    """Whether some sender of the value sent it outside transactions alone, or in one that committed."""
    txns = [row.txn for row in facts.sent if row.value == seen.value and row.txn is not None]
    return not txns or any(facts.transaction(txn) == "committed" for txn in txns)


def inject_group_skipped(w: Wound) -> Expected:
    first, second, third, *_ = taken_over(w)
    w.drop(first, second)
    w.change(third, position=0, prev_offset=None)
    return w.told("group-skipped", first, offset_a=first.offset, offset_b=third.offset)
