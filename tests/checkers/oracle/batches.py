"""divergence, sequence-order, dedup-ack, fractured-transaction and the epochs along a log: their definitions."""

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from brokertrial.histories.rows import Batch, PartitionId
from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.oracle.monotone import regressions

WRAP = 2**31


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


def _pair(facts: Facts, place: PartitionId, one: int | None, other: int | None) -> OracleRow:
    return {
        "topic": place[0],
        "partition": place[1],
        "offset_a": one,
        "offset_b": other,
        "op_a": sender_at(facts, place, one)[0],
        "op_b": sender_at(facts, place, other)[0],
    }


def divergence(facts: Facts) -> Iterator[OracleRow]:
    """Two views of one place differ, or a batch begins inside another."""
    unclean = facts.header.unclean_election
    groups: dict[tuple[str, int, int, int], list[Batch]] = {}
    for row in views(facts):
        epoch = -1 if not unclean or row.leader_epoch is None else row.leader_epoch
        groups.setdefault((row.topic, row.partition, row.base_offset, epoch), []).append(row)
    wrong = {(topic, part, base, base) for (topic, part, base, _), rows in groups.items() if _differ(rows)}
    for place, laid in logs(facts).items():
        for each in laid:
            if not unclean and each.covered is not None and each.batch.base_offset <= each.covered:
                wrong.add((*place, each.covered, each.batch.base_offset))
    for topic, partition, one, other in wrong:
        place = (topic, partition)
        yield _pair(facts, place, one, other) | {"value_a": sender_at(facts, place, one)[1]}


def _differ(rows: list[Batch]) -> bool:
    columns: list[Iterable[int | str | None]] = [
        [row.last_offset for row in rows],
        [row.producer_id for row in rows],
        [row.producer_epoch for row in rows],
        [row.base_sequence for row in rows],
        [row.leader_epoch for row in rows],
        [row.transactional for row in rows],
        [row.control or "" for row in rows],
    ]
    return any(len({each for each in column if each is not None}) > 1 for column in columns)


def sequence_order(facts: Facts) -> Iterator[OracleRow]:
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
                    yield _pair(facts, place, before.batch.base_offset, after.batch.base_offset) | {"name": name}


def _misfit(before: Batch, after: Batch) -> str | None:
    if after.producer_epoch < before.producer_epoch:
        return "zombie-append"
    if after.producer_epoch > before.producer_epoch:
        return None if after.base_sequence == 0 else "sequence-gap"
    last = before.base_sequence + before.last_offset - before.base_offset
    if after.base_sequence == (last + 1) % WRAP:
        return None
    return "sequence-gap" if (after.base_sequence - last - 1 + 2 * WRAP) % WRAP < WRAP // 2 else "sequence-repeat"


def dedup_ack(facts: Facts) -> Iterator[OracleRow]:
    """One batch by its producer, epoch, sequence and length, acknowledged at two offsets."""
    told: dict[tuple[str, int, int, int, int, int], set[int]] = {}
    for row in facts.rows("batches"):
        if not isinstance(row, Batch) or row.seen_at != "produce" or row.error != 0 or row.topic in facts.recreated:
            continue
        counted = min(row.base_offset, row.producer_id, row.base_sequence) >= 0
        if counted and row.client in facts.clients and facts.durable(row.client):
            identity = (row.producer_id, row.producer_epoch, row.base_sequence, row.last_offset - row.base_offset)
            told.setdefault((row.topic, row.partition, *identity), set()).add(row.base_offset)
    for (topic, partition, *_), offsets in told.items():
        if len(offsets) > 1:
            yield _pair(facts, (topic, partition), min(offsets), max(offsets))


class TransactionMark(NamedTuple):
    """How one transaction ends in one partition."""

    txn: int
    place: PartitionId
    top: int
    op: int
    marker: int
    control: str


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


def fractured_transaction(facts: Facts) -> Iterator[OracleRow]:
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


def leader_epoch_regression(facts: Facts) -> Iterator[OracleRow]:
    """Epochs that fall along the log, or in the answers of one node."""
    for place, laid in logs(facts).items():
        known = [each.batch for each in laid if each.batch.leader_epoch is not None and each.batch.leader_epoch >= 0]
        highest = -1
        for before, after in pairwise(known):
            highest = max(highest, before.leader_epoch or 0)
            if (after.leader_epoch or 0) < highest:
                yield _pair(facts, place, before.base_offset, after.base_offset)
    for each in regressions(facts, "leader-epoch"):
        yield {"topic": each.topic, "partition": each.partition, "op_a": each.before, "op_b": each.op}


def coordinator_epoch_regression(facts: Facts) -> Iterator[OracleRow]:
    """Markers of one producer in one partition whose coordinator's epoch falls."""
    for place, laid in logs(facts).items():
        producers: dict[int, list[Batch]] = {}
        for batch in (each.batch for each in laid):
            if batch.control is not None and batch.coordinator_epoch is not None and batch.coordinator_epoch >= 0:
                producers.setdefault(batch.producer_id, []).append(batch)
        for chain in producers.values():
            highest = -1
            for before, after in pairwise(chain):
                highest = max(highest, before.coordinator_epoch or 0)
                if (after.coordinator_epoch or 0) < highest:
                    yield {
                        "topic": place[0],
                        "partition": place[1],
                        "offset_a": before.base_offset,
                        "offset_b": after.base_offset,
                    }
