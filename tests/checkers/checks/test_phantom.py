"""phantom: its definition once more, as loops, how it is put into a legal history, examples."""

from collections.abc import Iterator

import pytest

from brokertrial.histories.rows import Record
from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
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


def inject_phantom(w: Wound) -> Expected:
    one = w.sent()
    w.see(one, offset=10**6, value=10**12)
    return w.told("phantom", one, offset_a=10**6)


def test_a_record_that_nobody_sent_is_a_phantom(told):
    tale = told()
    tale.send(10, at=0)
    poll = tale.read((0, 10), (1, 99))
    found = tale.only("phantom")

    assert (found.offsets, found.values, found.operations) == ((1,), (99,), (poll,))


def test_a_record_that_names_nobody_is_a_phantom(told):
    tale = told()
    tale.send(10, at=0)
    tale.read((0, 10), (1, None))

    assert tale.only("phantom").offsets == (1,)


def test_a_damaged_record_is_a_phantom(told):
    tale = told()
    send = tale.send(10, at=0)
    poll = tale.read((0, 10), intact=False)
    found = tale.only("phantom")

    assert found.operations == (poll, send)
    assert "not as it was sent" in found.sentence


def test_a_record_of_another_partition_is_a_phantom(told):
    tale = told()
    tale.send(10, at=0, partition=1)
    tale.send(11, at=0, partition=0)
    tale.read((0, 10), partition=0)

    assert "another partition" in tale.only("phantom").sentence


def test_a_record_whose_partition_was_never_learnt_may_be_anywhere(told):
    tale = told()
    tale.send(10, outcome="info", partition=-1)
    tale.read((0, 10), partition=2)

    assert tale.anomalies("phantom") == []


@pytest.mark.parametrize("outcome", ["info", "fail", "ok"])
def test_whatever_was_sent_is_no_phantom(told, outcome):
    tale = told()
    tale.send(10, outcome=outcome)
    tale.read((0, 10))

    assert tale.anomalies("phantom") == []
