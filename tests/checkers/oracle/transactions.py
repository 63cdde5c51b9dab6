"""aborted-read, precommitted-read and torn-transaction: their definitions, word by word."""

from collections.abc import Iterator

from brokertrial.histories.rows import Record
from tests.checkers.oracle.facts import Facts, OracleRow, same_place


def aborted_read(facts: Facts) -> Iterator[OracleRow]:
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


def precommitted_read(facts: Facts) -> Iterator[OracleRow]:
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


def committed_reads(facts: Facts) -> dict[tuple[str | None, int | None], int]:
    """The last stable offsets that final reads at read_committed reached."""
    ends: dict[tuple[str | None, int | None], int] = {}
    for event in facts.events:
        if event.kind == "final-read-committed" and event.offset is not None:
            place = (event.topic, event.partition)
            ends[place] = max(event.offset, ends.get(place, event.offset))
    return ends


def torn_transaction(facts: Facts) -> Iterator[OracleRow]:
    """Committed; acknowledged records below the end of a committed read were seen, but by no read_committed reader."""
    ends = committed_reads(facts)
    torn: dict[tuple[str, int, int], list[Record]] = {}
    for row in facts.sent:
        place = (row.topic, row.partition)
        if row.txn is None or row.outcome != "ok" or row.offset is None or facts.transaction(row.txn) != "committed":
            continue
        if place not in ends or row.offset >= ends[place]:
            continue
        if facts.compacted(row.topic) or row.offset < facts.low(*place):
            continue
        readers = [seen.client for seen in facts.seen if seen.value == row.value]
        if readers and not any(facts.committed_only(client) for client in readers):
            torn.setdefault((*place, row.txn), []).append(row)
    for (topic, partition, txn), rows in torn.items():
        values = {row.value for row in rows}
        yield {
            "topic": topic,
            "partition": partition,
            "offset_a": min(row.offset for row in rows if row.offset is not None),
            "value_a": min(row.value for row in rows if row.value is not None),
            "op_a": min(row.op for row in rows),
            "op_b": min(seen.op for seen in facts.seen if seen.value in values),
            "op_c": facts.ended_by(txn),
        }
