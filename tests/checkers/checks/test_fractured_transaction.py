"""fractured-transaction: its definition once more, as loops, how it is put into a legal history."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from brokertrial.histories.rows import Batch, PartitionId, Record
from tests.checkers.oracle.batches import logs
from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.picks import committed
from tests.checkers.wounds import Expected, Wound


class TransactionMark(NamedTuple):
    """How one transaction ends in one partition."""

    txn: int
    place: PartitionId
    top: int
    op: int
    marker: int
    control: str


def oracle(facts: Facts) -> Iterator[OracleRow]:
    """Markers that differ from partition to partition, or from the answer."""
    found = list(marks(facts))
    for mark in found:
        state = facts.transaction(mark.txn)
        row: OracleRow = {
            "topic": mark.place[0],
            "partition": mark.place[1],
            "offset_a": mark.top,
            "offset_b": mark.marker,
        }
        row |= {"op_a": mark.op, "op_c": facts.ended_by(mark.txn)}
        aborts = [each.op for each in found if each.txn == mark.txn and each.control == "ABORT"]
        if mark.control == "COMMIT" and aborts:
            yield row | {"name": "fractured-transaction", "op_b": min(aborts)}
        told = "COMMIT" if state == "committed" else "ABORT"
        if state != "unknown" and mark.control != told:
            yield row | {"name": "wrong-marker", "op_b": None}


def marks(facts: Facts) -> Iterator[TransactionMark]:
    """For each transaction and partition, the producer's first marker above its records."""
    tops: dict[tuple[int, PartitionId], list[tuple[int, int]]] = {}
    for row in facts.sent:
        if row.txn is None:
            continue
        if row.outcome == "ok" and row.offset is not None:
            tops.setdefault((row.txn, (row.topic, row.partition)), []).append((row.offset, row.op))
        for seen in facts.seen if row.outcome != "fail" else []:
            if seen.value == row.value and seen.offset is not None:
                tops.setdefault((row.txn, (seen.topic, seen.partition)), []).append((seen.offset, row.op))
    known = logs(facts)
    for (txn, place), found in tops.items():
        top = max(offset for offset, _ in found)
        below = [each.batch for each in known.get(place, []) if each.batch.control is None]
        at_or_below = [each for each in below if each.base_offset <= top]
        holder = max(at_or_below, key=lambda each: each.base_offset, default=None)
        if holder is None or holder.last_offset < top or not holder.transactional:
            continue
        ends = [
            each.batch
            for each in known[place]
            if each.batch.control in ("COMMIT", "ABORT")
            and each.batch.producer_id == holder.producer_id
            and each.batch.base_offset > top
        ]
        if ends:
            end = min(ends, key=lambda each: each.base_offset)
            yield TransactionMark(txn, place, top, min(op for _, op in found), end.base_offset, end.control or "")


def remarked(w: Wound) -> tuple[Any, Batch]:
    one = committed(w)
    ends = [row for row in w.all(Batch, topic="t", partition=one.partition, control="COMMIT")
            if row.base_offset > one.offset]  # fmt: skip
    return one, w.change(min(ends, key=lambda row: row.base_offset), control="ABORT")


def inject_fractured_transaction(w: Wound) -> Expected:
    one, _ = remarked(w)
    other = next(row for row in w.all(Record, side="sent", txn=one.txn) if row.partition != one.partition)
    return w.told("fractured-transaction", other, offset_a=other.offset)


def inject_wrong_marker(w: Wound) -> Expected:
    one, marker = remarked(w)
    return w.told("fractured-transaction", one, "wrong-marker", offset_a=one.offset, offset_b=marker.base_offset)
