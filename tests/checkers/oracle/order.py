"""poll-skip, nonmonotonic-poll, nonmonotonic-send: their definitions, word by word."""

from collections.abc import Iterator
from itertools import pairwise

from brokertrial.histories.rows import Record
from tests.checkers.oracle.delivery import blame, rising_sequence
from tests.checkers.oracle.facts import Facts, OracleRow, same_place


def poll_skip(facts: Facts) -> Iterator[OracleRow]:
    """A stream went from prev_offset to offset although somebody saw a record between that it should have shown."""
    for row in [] if facts.may_lose else facts.seen:
        if row.prev_offset is None or row.offset is None:
            continue
        between = [
            each
            for each in facts.seen
            if same_place(each, row)
            and each.offset is not None
            and row.prev_offset < each.offset < row.offset
            and each.offset >= facts.low(each.topic, each.partition)
            and not facts.compacted(each.topic)
            and (not facts.committed_only(row.client) or _committed(facts, each))
        ]
        if between:
            first = min(each.offset or 0 for each in between)
            before = _before(facts, row)
            yield {
                "name": "int-poll-skip" if before == row.op else "poll-skip",
                "topic": row.topic,
                "partition": row.partition,
                "offset_a": first,
                "offset_b": row.offset,
                "value_a": min(each.value or 0 for each in between if each.offset == first),
                "value_b": row.value,
                "op_a": row.op,
                "op_b": min(each.op for each in between if each.offset == first),
                "op_c": before,
            }


def _committed(facts: Facts, row: Record) -> bool:
    """Whether every sender of the value committed it, so that every reader must be shown it."""
    txns = [each.txn for each in facts.sent if each.value == row.value and each.txn is not None]
    return all(facts.transaction(txn) == "committed" for txn in txns)


def _before(facts: Facts, row: Record) -> int | None:
    """The poll that delivered the record before this one in its stream."""
    return next(
        (
            each.op
            for each in facts.found
            if same_place(each, row)
            and (each.client, each.stream, each.offset) == (row.client, row.stream, row.prev_offset)
            and each.position is not None
            and row.position is not None
            and each.position == row.position - 1
        ),
        None,
    )


def nonmonotonic_poll(facts: Facts) -> Iterator[OracleRow]:
    """A stream delivered an offset that is not above the one before."""
    for row in [] if facts.may_lose else facts.found:
        if row.prev_offset is not None and row.offset is not None and row.offset <= row.prev_offset:
            before = _before(facts, row)
            yield {
                "name": "int-nonmonotonic-poll" if before == row.op else "nonmonotonic-poll",
                "topic": row.topic,
                "partition": row.partition,
                "offset_a": row.prev_offset,
                "offset_b": row.offset,
                "value_b": row.value,
                "op_a": before,
                "op_b": row.op,
            }


def producer_order(facts: Facts) -> Iterator[OracleRow]:
    """Of two records that one producer sent one after the other, with a known place, the later one lies lower."""
    placed: dict[tuple[str, str, int], list[tuple[Record, int]]] = {}
    for row in facts.sent:
        single = facts.clients[row.client].retries == 0
        if row.outcome == "ok" and row.offset is not None:
            if facts.idempotent(row.client) or single:
                placed.setdefault((row.client, row.topic, row.partition), []).append((row, row.offset))
            continue
        sightings = [each for each in facts.seen if each.value == row.value]
        for topic, partition in {(each.topic, each.partition) for each in sightings}:
            offset = min(each.offset or 0 for each in sightings if (each.topic, each.partition) == (topic, partition))
            if facts.idempotent(row.client) or (single and row.outcome == "ok"):
                placed.setdefault((row.client, topic, partition), []).append((row, offset))
    for (client, topic, partition), rows in placed.items():
        rows.sort(key=lambda pair: (pair[0].position is None, pair[0].position or 0, pair[0].op))
        for (one, high), (other, low) in pairwise(rows):
            if high > low:
                yield {
                    "topic": topic,
                    "partition": partition,
                    "offset_a": high,
                    "offset_b": low,
                    "value_a": one.value,
                    "value_b": other.value,
                    "op_a": one.op,
                    "op_b": other.op,
                    "attribution": "broker"
                    if _asked_in_order(facts, client, topic, partition, high, low)
                    else blame(facts, client, topic, partition, high, low, rising_sequence),
                }


def _asked_in_order(facts: Facts, client: str, topic: str, partition: int, one: int, other: int) -> bool:
    """Whether one node acknowledged both, and was asked for the first one first."""
    here = [row for row in facts.asked if (row.client, row.topic, row.partition) == (client, topic, partition)]
    spans = {(row.node, row.base_offset, row.last_offset) for row in here}
    first_asked = {
        span: min(
            (row.request_ns for row in here if (row.node, row.base_offset, row.last_offset) == span and row.request_ns),
            default=None,
        )
        for span in spans
    }
    return any(
        a[0] == b[0] and a[0] is not None and before is not None and after is not None and before < after
        for a, before in first_asked.items()
        for b, after in first_asked.items()
        if a[1] <= one <= a[2] and b[1] <= other <= b[2]
    )
