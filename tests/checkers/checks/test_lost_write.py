"""lost-write: its definition once more, as loops, how it is put into a legal history, examples."""

from collections.abc import Iterator

import pytest

from tests.checkers.oracle.delivery import owed, ranges_around
from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.picks import plain
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
    """Owed, with a known offset, and passed by."""
    for row in owed(facts):
        around = ranges_around(row, facts)
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


def inject_lost_write(w: Wound) -> Expected:
    one = w.sent(where=plain)
    reach = w.hide(one, "rc")
    return w.told("lost-write", one, offset_a=one.offset, offset_b=reach)


def test_a_record_passed_by_is_lost(told):
    tale = told()
    for value, offset in ((10, 0), (11, 1), (12, 2), (13, 3)):
        tale.send(value, at=offset)
    tale.read((0, 10), (1, 11))
    last = tale.read((3, 13))

    found = tale.only("lost-write")

    assert (found.topic, found.partition, found.offsets, found.values) == ("t", 0, (2, 3), (12,))
    assert found.operations == (3, last)
    assert found.strength == "durability"
    assert "12" in found.sentence and "offset 2" in found.sentence


def test_a_record_read_by_any_reader_is_not_lost(told):
    tale = told()
    for value, offset in ((10, 0), (11, 1), (12, 2)):
        tale.send(value, at=offset)
    tale.read((0, 10), (2, 12))
    tale.read((1, 11), client="r", stream=2, start=1)

    assert tale.anomalies("lost-write") == []


def test_a_record_above_all_reads_is_not_lost(told):
    tale = told()
    tale.send(10, at=0)
    tale.send(11, at=1)
    tale.read((0, 10))

    assert tale.anomalies("lost-write") == []


def test_a_reader_that_began_above_proves_nothing(told):
    tale = told()
    tale.send(10, at=0)
    tale.send(11, at=1)
    tale.read((1, 11), start=1)

    assert tale.anomalies("lost-write") == []


def test_a_reader_from_the_beginning_that_starts_too_late_proves_the_loss(told):
    tale = told()
    tale.send(10, at=0)
    tale.send(11, at=1)
    tale.read((1, 11), start=0)

    assert tale.only("lost-write").offsets == (0, 1)


@pytest.mark.parametrize("outcome", ["info", "fail"])
def test_what_was_not_acknowledged_cannot_be_lost(told, outcome):
    tale = told()
    tale.send(10, at=0)
    tale.send(11, at=1, outcome=outcome)
    tale.send(12, at=2)
    tale.read((0, 10), (2, 12))

    assert tale.anomalies("lost-write") == []


@pytest.mark.parametrize(("acks", "nodes", "lost"), [(-1, 3, 1), (1, 3, 0), (1, 1, 1), (0, 1, 0), (1, None, 0)])
def test_what_an_acknowledgement_is_worth(story, acks, nodes, lost):
    tale = story(nodes=nodes)
    tale.producer("p", acks=acks, idempotence=False)
    tale.reader()
    tale.send(10, at=0)
    tale.send(11, at=1)
    tale.read((1, 11))

    assert len(tale.anomalies("lost-write")) == lost


def test_an_unclean_election_may_lose(told):
    tale = told(unclean_election=True)
    tale.send(10, at=0)
    tale.send(11, at=1)
    tale.read((1, 11))

    assert tale.anomalies("lost-write") == []


def test_what_was_cut_off_is_not_lost(told):
    tale = told()
    for value, offset in ((10, 0), (11, 1), (12, 2)):
        tale.send(value, at=offset)
    tale.op("delete_records", base_offset=2, log_start=2)
    tale.read((2, 12))

    assert tale.anomalies("lost-write") == []


def test_above_the_cut_it_is(told):
    tale = told()
    for value, offset in ((10, 0), (11, 1), (12, 2)):
        tale.send(value, at=offset)
    tale.op("delete_records", base_offset=1, log_start=1)
    tale.read((2, 12))

    assert tale.only("lost-write").offsets == (1, 2)


def test_a_compacted_topic_may_lose_old_values(told):
    tale = told()
    tale.event("topic", topic="t", fields='{"cleanup_policy":"compact"}')
    tale.send(10, at=0)
    tale.send(11, at=1)
    tale.read((1, 11))

    assert tale.anomalies("lost-write") == []


def test_a_final_read_that_ends_above_passes_by(told):
    tale = told()
    tale.send(10, at=0)
    tale.send(11, at=1)
    tale.read((0, 10))
    tale.final_read(2)

    assert tale.only("lost-write").offsets == (1, 2)


@pytest.mark.parametrize(("end", "lost"), [("commit_txn", 1), ("abort_txn", 0), (None, 0)])
def test_a_record_in_a_transaction_is_owed_when_that_committed(told, end, lost):
    tale = told()
    tale.send(10, at=0, txn=1)
    tale.send(11, at=1)
    if end:
        tale.op(end, txn=1)
    tale.read((1, 11))

    assert len(tale.anomalies("lost-write")) == lost


def test_one_visible_record_proves_a_commit_without_an_answer(told):
    tale = told()
    tale.reader("c", isolation="read_committed")
    tale.send(10, at=0, txn=1)
    tale.send(11, at=1, txn=1)
    tale.op("commit_txn", txn=1, outcome="info")
    tale.read((1, 11), client="c")

    assert tale.only("lost-write").offsets == (0, 1)


def test_without_reads_there_is_no_pass(told):
    tale = told()
    tale.send(10, at=0)
    judged = tale.judge("lost-write")

    assert judged.anomalies == []
    assert judged.inconclusive == {"lost-write": "nothing was read"}
