"""Anomalies of groups, to be put into a legal history (tests/checkers/injections.py)."""

from typing import Any

from msgspec import structs

from brokertrial.histories.rows import Event, Membership, Operation, Record
from tests.checkers.wounds import SECOND, Expected, Wound


def taken_over(w: Wound) -> list[Any]:
    """What the second member was given of a partition, in order."""
    partition = w.rng.randrange(2)
    return sorted(w.all(Record, client="m2", side="seen", partition=partition), key=lambda row: row.position)


def group_repeated(w: Wound) -> Expected:
    first = taken_over(w)[0]
    back = w.rng.randrange(1, 4)
    w.change(first, offset=first.offset - back, value=w.legal.logs["g", first.partition][first.offset - back][0])
    return w.told("group-repeated", first, offset_a=first.offset - back, offset_b=first.offset)


def group_skipped(w: Wound) -> Expected:
    first, second, third, *_ = taken_over(w)
    w.drop(first, second)
    w.change(third, position=0, prev_offset=None)
    return w.told("group-skipped", first, offset_a=first.offset, offset_b=third.offset)


def group_lost(w: Wound) -> Expected:
    rows = sorted(w.all(Record, client="m1", side="seen", partition=0), key=lambda row: row.position)
    gone = w.rng.choice(rows[2:-6])
    w.drop(gone)
    return w.told("group-lost", gone, offset_a=gone.offset)


def zombie_commit(w: Wound) -> Expected:
    one = w.one(Operation, kind="commit", client="m2")
    w.change(one, generation=1)
    return w.told("zombie-commit", one, op_a=one.op)


def two_owners(w: Wound) -> Expected:
    one = w.one(Membership, member="m2")
    w.add(structs.replace(one, member="m3", from_ns=one.from_ns + 1))
    return w.told("two-owners", one)


def generation_regression(w: Wound) -> Expected:
    one = w.one(Membership, member="m2")
    w.add(structs.replace(one, generation=1, from_ns=one.from_ns + 1))
    return w.told("generation-regression", one)


def orphan_partition(w: Wound) -> Expected:
    one = w.one(Membership, member="m2")
    w.change(one, until_ns=w.end)
    w.add(Event(kind="conclusion", at_ns=w.end + 61 * SECOND))
    return w.told("orphan-partition", one)


GROUPS = (
    group_repeated,
    group_skipped,
    group_lost,
    zombie_commit,
    two_owners,
    generation_regression,
    orphan_partition,
)
