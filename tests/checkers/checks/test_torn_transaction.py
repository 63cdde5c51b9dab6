"""torn-transaction: its definition once more, as loops, how it is put into a legal history, examples."""

from collections.abc import Iterator

import pytest

from brokertrial.histories.rows import Record
from tests.checkers.oracle.delivery import committed_reads
from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.picks import committed
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
    """Committed; acknowledged records below the end of a committed read were seen, but by no read_committed reader."""
    ends = committed_reads(facts)
    torn: dict[tuple[str, int, int], list[Record]] = {}
    for row in facts.sent:
        place = (row.topic, row.partition)
        if row.txn is None or row.outcome != "ok" or row.offset is None or facts.transaction(row.txn) != "committed":
            continue
        if place not in ends or row.offset >= ends[place]:
            continue
        if facts.compacted(row.topic) or row.offset < facts.low(*place):
            continue
        readers = [seen.client for seen in facts.seen if seen.value == row.value]
        if readers and not any(facts.committed_only(client) for client in readers):
            torn.setdefault((*place, row.txn), []).append(row)
    for (topic, partition, txn), rows in torn.items():
        values = {row.value for row in rows}
        yield {
            "topic": topic,
            "partition": partition,
            "offset_a": min(row.offset for row in rows if row.offset is not None),
            "value_a": min(row.value for row in rows if row.value is not None),
            "op_a": min(row.op for row in rows),
            "op_b": min(seen.op for seen in facts.seen if seen.value in values),
            "op_c": facts.ended_by(txn),
        }


def inject_torn_transaction(w: Wound) -> Expected:
    one = committed(w)
    w.hide(one, "c")
    return w.told("torn-transaction", one, offset_a=one.offset)


def torn(transactional, ending="ok", second=True, read_to=4):
    """One transaction over two partitions, of which a committed reader is shown only the first."""
    tale = transactional()
    tale.send(10, at=0, txn=1)
    tale.send(11, at=0, txn=1, partition=1)
    tale.op("commit_txn", txn=1, outcome=ending, topic=None, partition=None)
    tale.read((0, 10), client="u")
    tale.read((0, 11), client="u", partition=1)
    tale.read((0, 10), client="c")
    if second:
        tale.read((0, 11), client="c", partition=1)
    for partition in (0, 1):
        tale.event("final-read-committed", topic="t", partition=partition, offset=read_to)
    return tale


@pytest.mark.parametrize("ending", ["ok", "info"])
def test_a_transaction_shown_in_one_partition_only_is_torn(transactional, ending):
    found = torn(transactional, ending, second=False).only("torn-transaction")

    assert (found.partition, found.offsets, found.values) == (1, (0,), (11,))


@pytest.mark.parametrize(
    "tale",
    [
        pytest.param({}, id="all of it was shown"),
        pytest.param({"second": False, "read_to": 0}, id="it may still be behind an open transaction"),
    ],
)
def test_a_transaction_that_is_whole_or_late_is_not_torn(transactional, tale):
    assert torn(transactional, **tale).anomalies("torn-transaction") == []


def test_a_committed_reader_that_stopped_early_withholds_the_pass(transactional):
    tale = transactional()
    tale.send(10, at=0, txn=1)
    tale.op("commit_txn", txn=1, topic=None, partition=None)
    tale.read((0, 10), client="c")

    assert "torn-transaction" in tale.judge("torn-transaction").inconclusive
