"""dependency-cycle: how it is put into a legal history, examples."""

from itertools import pairwise
from typing import Any

import pytest

from brokertrial.histories.rows import Record
from tests.checkers.wounds import Expected, Wound


def inject_write_cycle(w: Wound) -> Expected:
    """Two transactions that follow each other in two partitions change their places in one of them."""
    written: dict[int, list[Any]] = {partition: [] for partition in range(4)}
    for row in sorted(w.all(Record, side="sent", topic="t", client="x1"), key=lambda row: row.offset):
        if w.state(row) == "committed":
            written[row.partition].append(row)
    following: dict[tuple[int, int], list[tuple[Any, Any]]] = {}
    for rows in written.values():
        for one, two in pairwise(rows):
            following.setdefault((one.txn, two.txn), []).append((one, two))
    places = w.rng.choice([pairs for pairs in following.values() if len(pairs) == 2])
    (one, two), (_, after) = w.rng.sample(places, 2)
    w.change(one, offset=two.offset)
    w.change(two, offset=one.offset)
    first = min(after, two, key=lambda row: row.partition)
    return w.told("dependency-cycle", first, "G0", judged=0, offset_a=first.offset, op_a=after.op, op_b=one.op)


def inject_read_cycle(w: Wound) -> Expected:
    """Each of a few transactions is shown, by a reader of committed records, what the one before it wrote."""
    written: dict[int, Any] = {}
    for row in w.all(Record, side="sent", topic="t", client="x1"):
        if w.state(row) == "committed":
            written.setdefault(row.txn, row)
    chosen = [written[txn] for txn in sorted(w.rng.sample(sorted(written), w.rng.randrange(2, 5)))]
    shown = [w.see(row, client="c", txn=chosen[(at + 1) % len(chosen)].txn) for at, row in enumerate(chosen)]
    first = min(chosen, key=lambda row: (row.partition, row.offset))
    return w.told("dependency-cycle", first, "G1c", offset_a=first.offset, op_a=shown[0].op, op_b=shown[1].op)


@pytest.fixture
def two(story):
    """Two committed transactions; each writes one record, and reads as the test says."""
    tale = story()
    tale.producer("p", transactional_id="p")
    tale.producer("q", transactional_id="q")
    return tale


def commit(tale):
    tale.op("commit_txn", "p", txn=1, topic=None, partition=None)
    tale.op("commit_txn", "q", txn=2, topic=None, partition=None)


def copies(tale, isolation, both):
    """1 writes a from b, 2 writes b (from a, when both): each value was shown to readers at `isolation`."""
    tale.reader("r", isolation)
    for client, txn, value, source in (("p", 1, 10, 20), ("q", 2, 20, 10 if both else None)):
        tale.send(value, at=txn, client=client, txn=txn)
        tale.rows[-1].derived_from = source
    commit(tale)
    tale.read((1, 10), (2, 20), client="r")


def test_each_read_what_the_other_wrote(two):
    copies(two, "read_committed", both=True)

    found = two.only("dependency-cycle")
    assert found.name == "G1c"
    assert set(found.values) == {10, 20}
    assert len(found.operations) == 2


def test_one_that_read_the_other_is_no_circle(two):
    copies(two, "read_committed", both=False)

    assert two.judge("dependency-cycle").anomalies == []
    assert two.judge("dependency-cycle").permitted == []


def test_readers_at_read_uncommitted_may_be_shown_it(two):
    copies(two, "read_uncommitted", both=True)

    judgement = two.judge("dependency-cycle")
    assert judgement.anomalies == []
    assert [anomaly.name for anomaly in judgement.permitted] == ["G1c"]


def test_writes_in_two_orders_are_reported_only(two):
    for partition, order in ((0, (1, 2)), (1, (2, 1))):
        for offset, txn in enumerate(order):
            two.send(partition * 100 + txn, at=offset, client="pq"[txn - 1], txn=txn, partition=partition)
    commit(two)

    judgement = two.judge("dependency-cycle")
    assert judgement.anomalies == []
    assert [anomaly.name for anomaly in judgement.permitted] == ["G0"]


def test_no_transaction_is_nothing_to_judge(story):
    tale = story()
    tale.producer("p")
    tale.send(1, at=0)

    assert "dependency-cycle" in tale.judge("dependency-cycle").not_applicable
