"""precommitted-read: its definition once more, as loops, how it is put into a legal history, examples."""

from collections.abc import Iterator

import pytest

from brokertrial.histories.rows import Record
from tests.checkers.oracle.facts import Facts, OracleRow, same_place
from tests.checkers.picks import committed
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
    """A read_committed reader's call returned a record before any commit of its transaction was called."""
    for sender in facts.sent:
        if sender.txn is None or facts.transaction(sender.txn) not in ("committed", "unknown"):
            continue
        asked = [
            row.call_ns
            for row in facts.operations
            if row.txn == sender.txn and row.kind == "commit_txn" and row.outcome != "fail"
        ]
        early = [
            row
            for row in facts.seen
            if row.value == sender.value
            and facts.committed_only(row.client)
            and _returned_before(facts, row, min(asked))
        ]
        for topic, partition, offset in {(row.topic, row.partition, row.offset) for row in early}:
            yield {
                "topic": topic,
                "partition": partition,
                "offset_a": offset,
                "value_a": sender.value,
                "op_a": sender.op,
                "op_b": min(
                    row.op for row in early if (row.topic, row.partition, row.offset) == (topic, partition, offset)
                ),
                "op_c": facts.ended_by(sender.txn),
            }


def _returned_before(facts: Facts, row: Record, moment: int) -> bool:
    calls = [call for call in facts.operations if call.op == row.op and same_place(call, row)]
    return any(call.return_ns is not None and call.return_ns < moment for call in calls)


def inject_precommitted_read(w: Wound) -> Expected:
    one = committed(w)
    at = w.operation(one).call_ns
    w.see(one, client="c", call_ns=at, return_ns=at)
    return w.told("precommitted-read", one, offset_a=one.offset)


@pytest.mark.parametrize(("read_until", "found"), [(19, 1), (20, 0), (25, 0)])
def test_a_committed_reader_waits_for_the_commit_to_begin(transactional, read_until, found):
    tale = transactional()
    tale.send(10, at=0, txn=1, call=1, ret=2)
    tale.op("commit_txn", txn=1, call=20, ret=30, topic=None, partition=None)
    tale.read((0, 10), client="c", call=5, ret=read_until)

    assert len(tale.anomalies("precommitted-read")) == found


def test_an_uncommitted_reader_need_not_wait(transactional):
    tale = transactional()
    tale.send(10, at=0, txn=1, call=1, ret=2)
    tale.op("commit_txn", txn=1, call=20, ret=30)
    tale.read((0, 10), client="u", call=5, ret=9)

    assert tale.anomalies("precommitted-read") == []
