"""What is owed to readers, what they passed by, and where final reads ended."""

from collections.abc import Callable
from typing import NamedTuple

from brokertrial.histories.rows import Batch, Record
from tests.checkers.oracle.facts import Facts

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


def ranges_around(row: Record, facts: Facts) -> list[SkippedRange]:
    return [
        each
        for each in skipped_ranges(facts)
        if (each.topic, each.partition) == (row.topic, row.partition)
        and row.offset is not None
        and each.after < row.offset < each.before
    ]


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


def committed_reads(facts: Facts) -> dict[tuple[str | None, int | None], int]:
    """The last stable offsets that final reads at read_committed reached."""
    ends: dict[tuple[str | None, int | None], int] = {}
    for event in facts.events:
        if event.kind == "final-read-committed" and event.offset is not None:
            place = (event.topic, event.partition)
            ends[place] = max(event.offset, ends.get(place, event.offset))
    return ends
