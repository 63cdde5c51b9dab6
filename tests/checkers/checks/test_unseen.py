"""unseen: its definition once more, as loops, how it is put into a legal history, examples."""

from collections.abc import Iterator

from tests.checkers.oracle.delivery import final_reads, owed, ranges_around
from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.picks import plain
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
    """Owed, not passed by, in a partition that was read to its end."""
    for row in owed(facts):
        if (row.topic, row.partition) in final_reads(facts) and not ranges_around(row, facts):
            yield {
                "topic": row.topic,
                "partition": row.partition,
                "offset_a": row.offset,
                "value_a": row.value,
                "op_a": row.op,
            }


def inject_unseen(w: Wound) -> Expected:
    one = w.sent(where=plain)
    w.hide(one, "rc")
    w.change(one, offset=None)
    return w.told("unseen", one, value_a=one.value)


def test_an_acknowledged_record_that_the_final_read_did_not_find_is_unseen(told):
    tale = told()
    tale.send(10, at=0)
    tale.send(11, at=1)
    tale.read((0, 10))
    tale.final_read(1)

    assert tale.only("unseen").values == (11,)


def test_without_a_final_read_it_is_inconclusive(told):
    tale = told()
    tale.send(10, at=0)
    tale.send(11, at=1)
    tale.read((0, 10))
    judged = tale.judge("unseen")

    assert judged.anomalies == []
    assert "t-0" in judged.inconclusive["unseen"]


def test_everything_seen_needs_no_final_read(told):
    tale = told()
    tale.send(10, at=0)
    tale.read((0, 10))
    judged = tale.judge("unseen")

    assert (judged.anomalies, judged.inconclusive, judged.judged) == ([], {}, ["unseen"])
