"""duplicate: its definition once more, as loops, how it is put into a legal history, examples."""

from collections.abc import Iterator

import pytest

from tests.checkers.oracle.delivery import blame
from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.picks import plain
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
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


def same_sequence(one: int, other: int) -> bool:
    """The same record, stored twice."""
    return one == other


def inject_duplicate(w: Wound) -> Expected:
    one, end = w.sent(where=plain), 10**6
    w.see(one, offset=end)
    return w.told("duplicate", one, offset_a=one.offset, offset_b=end)


def test_one_value_at_two_offsets_is_a_duplicate(told):
    tale = told()
    tale.send(10, at=0)
    tale.read((0, 10), (1, 10))
    tale.batch(0, sequence=5)
    tale.batch(1, sequence=5)
    found = tale.only("duplicate")

    assert (found.offsets, found.values, found.attribution) == ((0, 1), (10,), "broker")


def test_another_sequence_number_accuses_the_client(told):
    tale = told()
    tale.send(10, at=0)
    tale.read((0, 10), (1, 10))
    tale.batch(0, sequence=5)
    tale.batch(1, sequence=0, epoch=1)

    assert tale.only("duplicate").attribution == "client"


def test_without_wire_evidence_nobody_is_accused(told):
    tale = told()
    tale.send(10, at=0)
    tale.read((0, 10), (1, 10))

    assert tale.only("duplicate").attribution == "unknown"


def test_sequences_count_within_batches(told):
    tale = told()
    tale.send(10, at=1)
    tale.read((1, 10), (4, 10))
    tale.batch(0, sequence=5, count=2)
    tale.batch(3, sequence=5, count=2)

    assert tale.only("duplicate").attribution == "broker"


def test_a_record_read_twice_is_no_duplicate(told):
    tale = told()
    tale.send(10, at=0)
    tale.read((0, 10))
    tale.read((0, 10), stream=2)

    assert tale.anomalies("duplicate") == []


def test_retries_without_idempotence_may_duplicate(story):
    tale = story()
    tale.producer("p", idempotence=False, retries=5)
    tale.reader()
    tale.send(10, at=0)
    tale.read((0, 10), (1, 10))
    judged = tale.judge("duplicate")

    assert judged.anomalies == []
    assert "duplicate" in judged.not_applicable


@pytest.mark.parametrize(("disturbed", "found"), [(False, 1), (True, 0)])
def test_without_retries_only_a_fault_explains_a_second_copy(story, disturbed, found):
    tale = story()
    tale.producer("p", library="wire", idempotence=False, retries=0)
    tale.reader()
    if disturbed:
        tale.event("window-begin", window="w1")
    tale.send(10, at=0)
    tale.read((0, 10), (1, 10))

    assert [each.attribution for each in tale.anomalies("duplicate")] == ["broker"] * found


def test_a_value_sent_twice_may_lie_there_twice(told):
    tale = told()
    tale.send(10, at=0)
    tale.send(10, at=1)
    tale.read((0, 10), (1, 10))

    assert tale.anomalies("duplicate") == []
