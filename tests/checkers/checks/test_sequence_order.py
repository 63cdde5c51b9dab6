"""sequence-order: its definition once more, as loops, how it is put into a legal history."""

from collections.abc import Iterator
from itertools import pairwise

from brokertrial.histories.rows import Batch
from tests.checkers.oracle.batches import LoggedBatch, logs, pair
from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.picks import plain
from tests.checkers.wounds import Expected, Wound

WRAP = 2**31


def oracle(facts: Facts) -> Iterator[OracleRow]:
    """Of two batches of one producer that follow each other, with nothing unknown between, the second does not fit."""
    for place, laid in logs(facts).items():
        producers: dict[int, list[LoggedBatch]] = {}
        for each in laid:
            if each.batch.producer_id >= 0 and each.batch.base_sequence >= 0 and each.batch.control is None:
                producers.setdefault(each.batch.producer_id, []).append(each)
        for chain in producers.values():
            for before, after in pairwise(chain):
                known = before.hole == after.hole and before.batch.base_offset >= facts.low(*place)
                if known and (name := _misfit(before.batch, after.batch)):
                    yield pair(facts, place, before.batch.base_offset, after.batch.base_offset) | {"name": name}


def _misfit(before: Batch, after: Batch) -> str | None:
    if after.producer_epoch < before.producer_epoch:
        return "zombie-append"
    if after.producer_epoch > before.producer_epoch:
        return None if after.base_sequence == 0 else "sequence-gap"
    last = before.base_sequence + before.last_offset - before.base_offset
    if after.base_sequence == (last + 1) % WRAP:
        return None
    return "sequence-gap" if (after.base_sequence - last - 1 + 2 * WRAP) % WRAP < WRAP // 2 else "sequence-repeat"


def chained(w: Wound) -> tuple[Batch, Batch]:
    """Two batches of one producer that follow each other in a partition."""
    one = w.sent(where=plain)
    batch = w.batch(one)
    mine = [row for row in w.all(Batch, topic=batch.topic, partition=batch.partition, seen_at="final", control=None)
            if row.producer_id == batch.producer_id and row.base_offset > batch.base_offset]  # fmt: skip
    return batch, min(mine, key=lambda row: row.base_offset)


def inject_sequence_gap(w: Wound) -> Expected:
    before, after = chained(w)
    w.change(after, base_sequence=after.base_sequence + 5)
    return w.told("sequence-order", after, "sequence-gap", offset_a=before.base_offset, offset_b=after.base_offset)


def inject_sequence_repeat(w: Wound) -> Expected:
    before, after = chained(w)
    w.change(after, base_sequence=before.base_sequence)
    return w.told("sequence-order", after, "sequence-repeat", offset_a=before.base_offset, offset_b=after.base_offset)


def inject_zombie_append(w: Wound) -> Expected:
    before, after = chained(w)
    w.change(before, producer_epoch=1, base_sequence=0)
    return w.told("sequence-order", after, "zombie-append", offset_a=before.base_offset, offset_b=after.base_offset)
