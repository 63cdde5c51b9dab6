"""aborted-read and precommitted-read: their definitions, word by word."""

from collections.abc import Iterator

from checkers.oracle.facts import Facts, Found, same_place
from histories.rows import Record


def aborted_read(facts: Facts) -> Iterator[Found]:
    """Read, although every send of the value failed for certain or belongs to a transaction that did not commit."""
    for value in {row.value for row in facts.seen}:
        sends = [row for row in facts.sent if row.value == value]
        if not sends or not all(row.outcome == "fail" or _uncommitted(facts, row) for row in sends):
            continue
        refused = all(row.outcome == "fail" for row in sends)
        readers = [row for row in facts.seen if row.value == value]
        guilty = [row for row in readers if refused or facts.committed_only(row.client)]
        ends = [facts.ended_by(row.txn) for row in sends if row.txn is not None]
        for topic, partition, offset in {(row.topic, row.partition, row.offset) for row in guilty}:
            here = [row for row in guilty if (row.topic, row.partition, row.offset) == (topic, partition, offset)]
            yield {
                "topic": topic,
                "partition": partition,
                "offset_a": offset,
                "value_a": value,
                "op_a": min(row.op for row in sends),
                "op_b": min(row.op for row in here),
                "op_c": min((op for op in ends if op is not None), default=None),
            }


def _uncommitted(facts: Facts, row: Record) -> bool:
    return row.txn is not None and facts.transaction(row.txn) in ("aborted", "open")


def precommitted_read(facts: Facts) -> Iterator[Found]:
    """A read_committed reader's call returned a record before any commit of its transaction was called."""
    for sender in facts.sent:
        if sender.txn is None or facts.transaction(sender.txn) not in ("committed", "unknown"):
            continue
        asked = [
            row.call_ns
            for row in facts.operations
            if row.txn == sender.txn and row.kind == "commit_txn" and row.outcome != "fail"
        ]
        early = [
            row
            for row in facts.seen
            if row.value == sender.value
            and facts.committed_only(row.client)
            and _returned_before(facts, row, min(asked))
        ]
        for topic, partition, offset in {(row.topic, row.partition, row.offset) for row in early}:
            yield {
                "topic": topic,
                "partition": partition,
                "offset_a": offset,
                "value_a": sender.value,
                "op_a": sender.op,
                "op_b": min(
                    row.op for row in early if (row.topic, row.partition, row.offset) == (topic, partition, offset)
                ),
                "op_c": facts.ended_by(sender.txn),
            }


def _returned_before(facts: Facts, row: Record, moment: int) -> bool:
    calls = [call for call in facts.operations if call.op == row.op and same_place(call, row)]
    return any(call.return_ns is not None and call.return_ns < moment for call in calls)
