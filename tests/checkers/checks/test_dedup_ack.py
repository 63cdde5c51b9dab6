"""dedup-ack: its definition once more, as loops, how it is put into a legal history."""

from collections.abc import Iterator

from msgspec import structs

from brokertrial.histories.rows import Batch
from tests.checkers.oracle.batches import pair
from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
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
            yield pair(facts, (topic, partition), min(offsets), max(offsets))


def inject_dedup_ack(w: Wound) -> Expected:
    one = w.one(Batch, seen_at="produce", error=0, topic="t")
    w.add(structs.replace(one, base_offset=10**6, last_offset=10**6))
    return w.told("dedup-ack", one, offset_a=one.base_offset, offset_b=10**6)
