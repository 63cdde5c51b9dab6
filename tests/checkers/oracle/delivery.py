"""lost-write, unseen, duplicate, phantom: their definitions, word by word."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from brokertrial.histories.rows import Batch, Record
from tests.checkers.oracle.facts import Facts, OracleRow, same_place

SequenceTest = Callable[[int, int], bool]


class SkippedRange(NamedTuple):
    """A stretch of a partition, without its ends, that somebody passed by."""

    topic: str | None
    partition: int | None
    after: int
    before: int
    op: int | None


def owed(facts: Facts) -> list[Record]:
    """Acknowledged records that nobody read, although every reader is entitled to them."""
    read = {row.value for row in facts.seen}
    return [
        row
        for row in facts.sent
        if row.outcome == "ok"
        and row.value not in read
        and facts.durable(row.client)
        and (row.txn is None or facts.transaction(row.txn) == "committed")
        and not facts.compacted(row.topic)
        and (row.offset is None or row.offset >= facts.low(row.topic, row.partition))
    ]


def skipped_ranges(facts: Facts) -> list[SkippedRange]:
    """What streams jumped over, and what lies between the highest record read and the end of a final read."""
    if facts.may_lose:
        jumps = []
    else:
        jumps = [
            SkippedRange(row.topic, row.partition, row.prev_offset, row.offset, row.op)
            for row in facts.seen
            if row.prev_offset is not None and row.offset is not None and row.offset > row.prev_offset + 1
        ]
    for (topic, partition), end in final_reads(facts).items():
        read = [row.offset or 0 for row in facts.found if (row.topic, row.partition) == (topic, partition)]
        jumps.append(SkippedRange(topic, partition, max(read, default=-1), end, None))
    return jumps


def final_reads(facts: Facts) -> dict[tuple[str | None, int | None], int]:
    """The ends that final reads reached."""
    ends: dict[tuple[str | None, int | None], int] = {}
    for event in facts.events:
        if event.kind == "final-read" and event.offset is not None:
            place = (event.topic, event.partition)
            ends[place] = max(event.offset, ends.get(place, event.offset))
    return ends


def lost_write(facts: Facts) -> Iterator[OracleRow]:
    """Owed, with a known offset, and passed by."""
    for row in owed(facts):
        around = _around(row, facts)
        if around:
            reach = max(each.before for each in around)
            ops = [each.op for each in around if each.before == reach and each.op is not None]
            yield {
                "topic": row.topic,
                "partition": row.partition,
                "offset_a": row.offset,
                "offset_b": reach,
                "value_a": row.value,
                "op_a": row.op,
                "op_b": min(ops, default=None),
            }


def _around(row: Record, facts: Facts) -> list[SkippedRange]:
    return [
        each
        for each in skipped_ranges(facts)
        if (each.topic, each.partition) == (row.topic, row.partition)
        and row.offset is not None
        and each.after < row.offset < each.before
    ]


def unseen(facts: Facts) -> Iterator[OracleRow]:
    """Owed, not passed by, in a partition that was read to its end."""
    for row in owed(facts):
        if (row.topic, row.partition) in final_reads(facts) and not _around(row, facts):
            yield {
                "topic": row.topic,
                "partition": row.partition,
                "offset_a": row.offset,
                "value_a": row.value,
                "op_a": row.op,
            }


def duplicate(facts: Facts) -> Iterator[OracleRow]:
    """A value that one operation sent, seen at two offsets of a partition, though its producer was guarded."""
    places = {(row.topic, row.partition, row.value) for row in facts.seen}
    for topic, partition, value in places:
        senders = {row.op: row.client for row in facts.sent if row.value == value}
        copies = [row for row in facts.seen if (row.topic, row.partition, row.value) == (topic, partition, value)]
        low = min(row.offset or 0 for row in copies)
        high = max(row.offset or 0 for row in copies)
        if low == high or len(senders) != 1:
            continue
        ((op, client),) = senders.items()
        if facts.guarded(client):
            yield {
                "topic": topic,
                "partition": partition,
                "offset_a": low,
                "offset_b": high,
                "value_a": value,
                "op_a": op,
                "op_b": min(row.op for row in copies if row.offset == low),
                "op_c": min(row.op for row in copies if row.offset == high),
                "attribution": blame(facts, client, topic, partition, low, high, same_sequence),
            }


def blame(facts: Facts, client: str, topic: str, partition: int, one: int, other: int, test: SequenceTest) -> str:
    """Whose doing it is that these two offsets hold what they hold; `test` looks at two sequence numbers."""
    if facts.clients[client].library == "wire":
        return "broker"
    first, second = (_writers(facts, topic, partition, offset) for offset in (one, other))
    if not first or not second:
        return "unknown"
    for a in first:
        for b in second:
            same_producer = (a.producer_id, a.producer_epoch) == (b.producer_id, b.producer_epoch)
            if same_producer and test(_sequence(a, one), _sequence(b, other)):
                return "broker"
    return "client"


def same_sequence(one: int, other: int) -> bool:
    """The same record, stored twice."""
    return one == other


def rising_sequence(one: int, other: int) -> bool:
    """Two records, sent in this order."""
    return one < other


def _writers(facts: Facts, topic: str, partition: int, offset: int) -> list[Batch]:
    return [
        batch
        for batch in facts.batches
        if (batch.topic, batch.partition) == (topic, partition)
        and batch.base_offset <= offset <= batch.last_offset
        and batch.producer_id >= 0
        and batch.base_sequence >= 0
        and batch.control is None
    ]


def _sequence(batch: Batch, offset: int) -> int:
    return batch.base_sequence + offset - batch.base_offset


def phantom(facts: Facts) -> Iterator[OracleRow]:
    """Seen in a topic that this history writes to, but sent by nobody, or sent elsewhere, or not as it was sent."""
    topics = {row.topic for row in facts.sent}
    strange: dict[tuple[str, int, int | None, int | None], list[tuple[Record, Record | None]]] = {}
    for row in facts.found:
        senders = [each for each in facts.sent if each.value == row.value]
        here = [each for each in senders if each.topic == row.topic and each.partition in (row.partition, -1)]
        if row.topic in topics and (not here or not row.intact):
            where = (row.topic, row.partition, row.offset, row.value)
            pairs: list[tuple[Record, Record | None]] = [(row, sender) for sender in senders]
            strange.setdefault(where, []).extend(pairs or [(row, None)])
    for (topic, partition, offset, value), cases in strange.items():
        yield {
            "topic": topic,
            "partition": partition,
            "offset_a": offset,
            "value_a": value,
            "op_a": min(row.op for row, _ in cases),
            "op_b": min((sender.op for _, sender in cases if sender is not None), default=None),
        }


def wrong_ack_offset(facts: Facts) -> Iterator[OracleRow]:
    """A guarded producer was told an offset at which nobody found the record, while somebody found it elsewhere."""
    for row in facts.sent:
        once = sum(1 for each in facts.sent if each.value == row.value) == 1
        told = row.outcome == "ok" and row.offset is not None
        sightings = [each for each in facts.seen if each.value == row.value and same_place(each, row)]
        astray = bool(sightings) and all(each.offset != row.offset for each in sightings)
        if once and told and astray and facts.durable(row.client) and facts.guarded(row.client):
            client = facts.clients[row.client]
            yield {
                "topic": row.topic,
                "partition": row.partition,
                "offset_a": row.offset,
                "offset_b": min(each.offset or 0 for each in sightings),
                "value_a": row.value,
                "op_a": row.op,
                "op_b": min(each.op for each in sightings),
                "attribution": "broker" if client.library == "wire" or client.retries == 0 else "unknown",
            }
