"""moved-record: its definition once more, as loops, how it is put into a legal history."""

from collections.abc import Iterator

from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
    """In a compacted topic, a value that was sent once and is known at two offsets, one of them seen."""
    for value in {row.value for row in facts.seen}:
        senders = [row for row in facts.sent if row.value == value]
        if len({row.op for row in senders}) != 1 or not facts.guarded(senders[0].client):
            continue
        told = [row for row in senders if row.outcome == "ok" and row.offset is not None and facts.durable(row.client)]
        sightings = [row for row in facts.seen if row.value == value]
        for topic, partition in {(row.topic, row.partition) for row in sightings}:
            if not facts.compacted(topic):
                continue
            seen = [row for row in sightings if (row.topic, row.partition) == (topic, partition)]
            offsets = {row.offset for row in [*seen, *told] if (row.topic, row.partition) == (topic, partition)}
            known = [offset for offset in offsets if offset is not None]
            if len(known) > 1:
                yield {
                    "topic": topic,
                    "partition": partition,
                    "offset_a": min(known),
                    "offset_b": max(known),
                    "value_a": value,
                    "op_a": min(row.op for row in senders),
                    "op_b": min(row.op for row in seen),
                }


def inject_moved_record(w: Wound) -> Expected:
    one = w.sent("k", where=lambda row: ("k", 0, row.offset) in w.legal.latest)
    w.see(one, offset=10**6)
    return w.told("moved-record", one, offset_a=one.offset, offset_b=10**6)
