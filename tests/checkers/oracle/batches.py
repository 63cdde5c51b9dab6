"""Batches as logs and readers showed them, and who sent them."""

from collections.abc import Callable
from typing import NamedTuple

from brokertrial.histories.rows import Batch, PartitionId
from tests.checkers.oracle.facts import Facts, OracleRow


class LoggedBatch(NamedTuple):
    """One place of a log: what was handed out as the batch there, how far those below reach, how many holes there."""

    batch: Batch
    covered: int | None
    hole: int


def views(facts: Facts) -> list[Batch]:
    """What readers were handed."""
    return [
        row
        for row in facts.batches
        if row.base_offset >= 0 and row.topic not in facts.recreated and not facts.compacted(row.topic)
    ]


def logs(facts: Facts) -> dict[PartitionId, list[LoggedBatch]]:
    """Each partition in the order of its offsets; where views differ, the greater of each number."""
    places: dict[PartitionId, dict[int, list[Batch]]] = {}
    for row in views(facts):
        places.setdefault((row.topic, row.partition), {}).setdefault(row.base_offset, []).append(row)
    made: dict[PartitionId, list[LoggedBatch]] = {}
    for place, rows in places.items():
        covered: int | None = None
        hole = 0
        for base in sorted(rows):
            batch = _merged(rows[base])
            hole += covered is not None and base > covered + 1
            made.setdefault(place, []).append(LoggedBatch(batch, covered, hole))
            covered = batch.last_offset if covered is None else max(covered, batch.last_offset)
    return made


def _merged(rows: list[Batch]) -> Batch:
    def top(read: Callable[[Batch], int | None]) -> int | None:
        return max((number for row in rows if (number := read(row)) is not None), default=None)

    return Batch(
        topic=rows[0].topic,
        partition=rows[0].partition,
        base_offset=rows[0].base_offset,
        last_offset=max(row.last_offset for row in rows),
        leader_epoch=top(lambda row: row.leader_epoch),
        producer_id=max(row.producer_id for row in rows),
        producer_epoch=max(row.producer_epoch for row in rows),
        base_sequence=max(row.base_sequence for row in rows),
        transactional=any(row.transactional for row in rows),
        control=max((row.control for row in rows if row.control is not None), default=None),
        coordinator_epoch=top(lambda row: row.coordinator_epoch),
        seen_at="final",
    )


def sender_at(facts: Facts, place: PartitionId, offset: int | None) -> tuple[int | None, int | None]:
    """The operation, and the value, that were acknowledged at an offset."""
    rows = [
        row
        for row in facts.sent
        if (row.topic, row.partition) == place and row.offset == offset is not None and row.outcome == "ok"
    ]
    return min((row.op for row in rows), default=None), min((row.value or 0 for row in rows), default=None)


def pair(facts: Facts, place: PartitionId, one: int | None, other: int | None) -> OracleRow:
    return {
        "topic": place[0],
        "partition": place[1],
        "offset_a": one,
        "offset_b": other,
        "op_a": sender_at(facts, place, one)[0],
        "op_b": sender_at(facts, place, other)[0],
    }
