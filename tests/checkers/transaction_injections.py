"""Anomalies of whole transactions, to be put into a legal history (tests/checkers/injections.py)."""

from itertools import pairwise
from typing import Any

from brokertrial.histories.rows import Batch, Record
from tests.checkers.wounds import Expected, Wound


def committed(w: Wound) -> Any:
    """A record of a transaction that was committed."""
    return w.sent(where=lambda row: row.txn is not None and w.state(row) == "committed")


def remarked(w: Wound) -> tuple[Any, Batch]:
    one = committed(w)
    ends = [row for row in w.all(Batch, topic="t", partition=one.partition, control="COMMIT")
            if row.base_offset > one.offset]  # fmt: skip
    return one, w.change(min(ends, key=lambda row: row.base_offset), control="ABORT")


def fractured_transaction(w: Wound) -> Expected:
    one, _ = remarked(w)
    other = next(row for row in w.all(Record, side="sent", txn=one.txn) if row.partition != one.partition)
    return w.told("fractured-transaction", other, offset_a=other.offset)


def wrong_marker(w: Wound) -> Expected:
    one, marker = remarked(w)
    return w.told("fractured-transaction", one, "wrong-marker", offset_a=one.offset, offset_b=marker.base_offset)


def write_cycle(w: Wound) -> Expected:
    """Two transactions that follow each other in two partitions change their places in one of them."""
    written: dict[int, list[Any]] = {partition: [] for partition in range(4)}
    for row in sorted(w.all(Record, side="sent", topic="t", client="x1"), key=lambda row: row.offset):
        if w.state(row) == "committed":
            written[row.partition].append(row)
    following: dict[tuple[int, int], list[tuple[Any, Any]]] = {}
    for rows in written.values():
        for one, two in pairwise(rows):
            following.setdefault((one.txn, two.txn), []).append((one, two))
    places = w.rng.choice([pairs for pairs in following.values() if len(pairs) == 2])
    (one, two), (_, after) = w.rng.sample(places, 2)
    w.change(one, offset=two.offset)
    w.change(two, offset=one.offset)
    first = min(after, two, key=lambda row: row.partition)
    return w.told("dependency-cycle", first, "G0", judged=0, offset_a=first.offset, op_a=after.op, op_b=one.op)


def read_cycle(w: Wound) -> Expected:
    """Each of a few transactions is shown, by a reader of committed records, what the one before it wrote."""
    written: dict[int, Any] = {}
    for row in w.all(Record, side="sent", topic="t", client="x1"):
        if w.state(row) == "committed":
            written.setdefault(row.txn, row)
    chosen = [written[txn] for txn in sorted(w.rng.sample(sorted(written), w.rng.randrange(2, 5)))]
    shown = [w.see(row, client="c", txn=chosen[(at + 1) % len(chosen)].txn) for at, row in enumerate(chosen)]
    first = min(chosen, key=lambda row: (row.partition, row.offset))
    return w.told("dependency-cycle", first, "G1c", offset_a=first.offset, op_a=shown[0].op, op_b=shown[1].op)


TRANSACTIONS = (fractured_transaction, wrong_marker, write_cycle, read_cycle)
