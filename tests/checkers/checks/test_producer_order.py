"""nonmonotonic-send: its definition once more, as loops, how it is put into a legal history, examples."""

from collections.abc import Iterator
from itertools import pairwise

import pytest

from brokertrial.histories.rows import Record
from tests.checkers.oracle.delivery import blame, rising_sequence
from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.picks import plain
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
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


def inject_nonmonotonic_send(w: Wound) -> Expected:
    acked = w.all(Record, side="sent", client="p1", topic="t", outcome="ok")
    told = {(row.partition, row.position): row for row in acked}
    one = w.sent(where=lambda row: plain(row) and (row.partition, row.position + 1) in told, client="p1")
    other = told[one.partition, one.position + 1]
    w.change(one, position=other.position)
    w.change(other, position=one.position)
    return w.told("nonmonotonic-send", one, offset_a=other.offset, offset_b=one.offset)


def test_one_producers_records_in_another_order(story):
    tale = story()
    tale.producer("p")
    first, second = tale.send(10, at=1), tale.send(11, at=0)
    tale.batch(0, sequence=1)
    tale.batch(1, sequence=0)
    found = tale.only("nonmonotonic-send")

    assert (found.offsets, found.values, found.operations) == ((1, 0), (10, 11), (first, second))
    assert found.attribution == "broker"


def test_sequences_in_the_wrong_order_accuse_the_client(story):
    tale = story()
    tale.producer("p")
    tale.send(10, at=1)
    tale.send(11, at=0)
    tale.batch(0, sequence=0)
    tale.batch(1, sequence=1)

    assert tale.only("nonmonotonic-send").attribution == "client"


@pytest.mark.parametrize(
    ("asked", "nodes", "attribution"),
    [((1, 2), (1, 1), "broker"), ((2, 1), (1, 1), "unknown"), ((1, 2), (1, 2), "unknown")],
    ids=["asked in order", "asked in disorder", "asked of two leaders"],
)
def test_without_sequences_the_order_of_the_requests_decides(story, asked, nodes, attribution):
    tale = story()
    tale.producer("p", idempotence=False, retries=0)
    for value, offset, request_ns, node in zip((10, 11), (1, 0), asked, nodes, strict=True):
        tale.send(value, at=offset)
        tale.batch(offset, sequence=-1, producer_id=-1)
        batch = tale.rows[-1]
        batch.seen_at, batch.client, batch.request_ns, batch.node = "produce", "p", request_ns, node

    assert tale.only("nonmonotonic-send").attribution == attribution


def test_an_unanswered_send_lies_where_it_was_seen(story):
    tale = story()
    tale.producer("p")
    tale.reader()
    tale.send(10, outcome="info")
    tale.send(11, at=0)
    tale.read((0, 11), (1, 10))

    assert tale.only("nonmonotonic-send").values == (10, 11)


def test_two_producers_have_no_order(story):
    tale = story()
    tale.producer("p")
    tale.producer("q")
    tale.send(10, at=1, client="p")
    tale.send(11, at=0, client="q")

    assert tale.anomalies("nonmonotonic-send") == []


@pytest.mark.parametrize(
    ("settings", "outcome", "found"),
    [
        ({"idempotence": False, "retries": 3}, "ok", 0),
        ({"idempotence": False, "retries": 0, "library": "wire"}, "ok", 1),
        ({"idempotence": False, "retries": 0, "library": "wire"}, "info", 0),
        ({"idempotence": True}, "info", 1),
    ],
)
def test_who_is_promised_an_order(story, settings, outcome, found):
    tale = story()
    tale.producer("p", **settings)
    tale.reader()
    tale.send(10, at=1 if outcome == "ok" else None, outcome=outcome)
    tale.send(11, at=0)
    tale.read((0, 11), (1, 10))

    assert len(tale.anomalies("nonmonotonic-send")) == found
