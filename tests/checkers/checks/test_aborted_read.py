"""aborted-read: its definition once more, as loops, how it is put into a legal history, examples."""

from collections.abc import Iterator

import pytest

from brokertrial.histories.rows import Record
from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
    """Read, although every send of the value failed for certain or belongs to a transaction that did not commit."""
    for value in {row.value for row in facts.seen}:
        sends = [row for row in facts.sent if row.value == value]
        if not sends or not all(row.outcome == "fail" or _uncommitted(facts, row) for row in sends):
            continue
        refused = all(row.outcome == "fail" for row in sends)
        readers = [row for row in facts.seen if row.value == value]
        guilty = [row for row in readers if refused or facts.committed_only(row.client)]
        ends = [facts.ended_by(row.txn) for row in sends if row.txn is not None]
        for topic, partition, offset in {(row.topic, row.partition, row.offset) for row in guilty}:
            here = [row for row in guilty if (row.topic, row.partition, row.offset) == (topic, partition, offset)]
            yield {
                "topic": topic,
                "partition": partition,
                "offset_a": offset,
                "value_a": value,
                "op_a": min(row.op for row in sends),
                "op_b": min(row.op for row in here),
                "op_c": min((op for op in ends if op is not None), default=None),
            }


def _uncommitted(facts: Facts, row: Record) -> bool:
    return row.txn is not None and facts.transaction(row.txn) in ("aborted", "open")


def inject_aborted_read(w: Wound) -> Expected:
    one = w.sent(where=lambda row: row.txn is not None and w.state(row) == "aborted")
    w.see(one, client="c")
    return w.told("aborted-read", one, offset_a=one.offset)


@pytest.mark.parametrize(
    ("ending", "outcome", "committed_reader", "uncommitted_reader"),
    [
        ("abort_txn", "ok", 1, 0),
        ("abort_txn", "info", 1, 0),
        (None, None, 1, 0),
        ("commit_txn", "fail", 1, 0),
        ("commit_txn", "ok", 0, 0),
        ("commit_txn", "info", 0, 0),
    ],
)
def test_who_may_see_what_a_transaction_wrote(transactional, ending, outcome, committed_reader, uncommitted_reader):
    for client, expected in (("c", committed_reader), ("u", uncommitted_reader)):
        tale = transactional()
        tale.send(10, at=0, txn=1)
        if ending:
            tale.op(ending, txn=1, outcome=outcome)
        tale.read((0, 10), client=client)

        assert len(tale.anomalies("aborted-read")) == expected, client


def test_an_aborted_read_names_the_send_the_read_and_the_abort(transactional):
    tale = transactional()
    send = tale.send(10, at=0, txn=1)
    abort = tale.op("abort_txn", txn=1, topic=None, partition=None)
    poll = tale.read((0, 10), client="c")
    found = tale.only("aborted-read")

    assert (found.offsets, found.values, found.operations) == ((0,), (10,), (send, poll, abort))
    assert "aborted" in found.sentence


@pytest.mark.parametrize("client", ["u", "c"])
def test_nobody_may_see_what_was_refused(transactional, client):
    tale = transactional()
    tale.producer("q")
    tale.send(10, client="q", outcome="fail")
    tale.read((0, 10), client=client)

    assert "refused" in tale.only("aborted-read").sentence


@pytest.mark.parametrize("outcome", ["ok", "info"])
def test_what_may_have_been_written_may_be_seen(transactional, outcome):
    tale = transactional()
    tale.producer("q")
    tale.send(9, client="q", outcome="fail")
    tale.send(10, client="q", outcome=outcome)
    tale.read((0, 10), client="c")

    assert tale.anomalies("aborted-read") == []


def test_a_value_sent_again_after_an_abort_may_be_seen(transactional):
    tale = transactional()
    tale.send(10, txn=1)
    tale.op("abort_txn", txn=1)
    tale.send(10, txn=2)
    tale.op("commit_txn", txn=2)
    tale.read((3, 10), client="c")

    assert tale.anomalies("aborted-read") == []
