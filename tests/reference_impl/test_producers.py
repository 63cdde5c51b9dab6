"""The producer table against a model that keeps everything."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from brokertrial.reference_impl.log.batch import Header, read_header
from brokertrial.reference_impl.log.producers import MOST_AWAITED, DuplicateBatch, ProducerTable, RejectedBatch, follows
from brokertrial.wire import errors, records

MAX = (1 << 31) - 1


def header(seq: int, count: int = 1, *, epoch: int = 0, base: int = 0, pid: int = 1, txn: bool = False) -> Header:
    rows = [records.Record(None, b"", timestamp=5)] * count
    return read_header(
        records.build_batch(
            rows, base_offset=base, producer_id=pid, producer_epoch=epoch, base_sequence=seq, transactional=txn
        )
    )


def error(verdict: object) -> int:
    assert isinstance(verdict, RejectedBatch)
    return verdict.error


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 3)), max_size=40))
@settings(max_examples=200, deadline=None)
def test_sequences_are_admitted_as_if_everything_were_remembered(attempts: list[tuple[int, int]]) -> None:
    table, end = ProducerTable(), 0
    log: list[tuple[int, int, int]] = []
    for seq, count in attempts:
        verdict = table.admit(header(seq, count))
        newest = [(s, c, o) for s, c, o in log[-5:] if (s, c) == (seq, count)]
        if newest:
            assert isinstance(verdict, DuplicateBatch) and verdict.batch.base_offset == newest[0][2]
        elif not log or log[-1][0] + log[-1][1] == seq:
            assert verdict is None
            table.record(header(seq, count, base=end))
            log.append((seq, count, end))
            end += count
        else:
            assert error(verdict) == errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert ProducerTable.restore(table.snapshot()).entries == table.entries


def test_after_the_largest_sequence_comes_zero() -> None:
    assert follows(MAX, 0) and not follows(MAX, 1) and not follows(5, 0)
    table = ProducerTable()
    table.record(header(MAX - 1, 2))
    assert table.entries[1].last_sequence == MAX
    assert table.admit(header(0)) is None
    table.record(header(MAX, 2, pid=2))
    assert table.entries[2].last_sequence == 0
    assert table.admit(header(1, pid=2)) is None


def test_a_new_epoch_begins_at_zero_and_ends_the_old_one() -> None:
    table = ProducerTable()
    table.record(header(0))
    assert error(table.admit(header(1, epoch=1))) == errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert table.admit(header(0, epoch=1)) is None
    table.record(header(0, epoch=1))
    assert error(table.admit(header(1, epoch=0))) == errors.INVALID_PRODUCER_EPOCH


def test_nothing_known_admits_any_first_sequence() -> None:
    assert ProducerTable().admit(header(77, epoch=3)) is None


def test_a_plain_batch_inside_a_transaction_is_refused_and_a_marker_ends_it() -> None:
    table = ProducerTable()
    table.record(header(0, txn=True, base=10))
    assert table.first_unstable() == 10
    assert error(table.admit(header(1))) == errors.INVALID_TXN_STATE
    assert table.admit_marker(1, 0, 4) is None
    end = read_header(records.control_marker("ABORT", 1, 0, 4, base_offset=11))
    completed = table.record_marker(end, 4, commit=False)
    assert completed is not None and completed.aborted and (completed.first_offset, completed.last_offset) == (10, 11)
    assert table.first_unstable() is None
    assert table.admit(header(1)) is None


def test_old_coordinators_and_old_epochs_end_nothing() -> None:
    table = ProducerTable()
    table.record(header(0, epoch=2, txn=True))
    table.record_marker(read_header(records.control_marker("COMMIT", 1, 2, 5)), 5, commit=True)
    refused = table.admit_marker(1, 2, 4)
    assert refused is not None and refused.error == errors.TRANSACTION_COORDINATOR_FENCED
    refused = table.admit_marker(1, 1, 5)
    assert refused is not None and refused.error == errors.INVALID_PRODUCER_EPOCH


def test_idle_producers_are_forgotten_unless_a_transaction_is_open() -> None:
    table = ProducerTable()
    table.record(header(0, pid=1))
    table.record(header(0, pid=2, txn=True))
    table.expire(older_than_ms=100)
    assert list(table.entries) == [2]


def test_nothing_above_the_lowest_sequence_that_asked_may_begin_a_transaction() -> None:
    table = ProducerTable()
    table.await_first(header(4, txn=True), from_zero=False)
    table.await_first(header(3, txn=True), from_zero=False)
    assert error(table.admit(header(4, txn=True))) == errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert table.admit(header(3, txn=True)) is None
    table.await_first(header(5, pid=2, txn=True), from_zero=True)
    assert error(table.admit(header(5, pid=2, txn=True))) == errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert table.admit(header(0, pid=2, txn=True)) is None


def test_whether_a_transaction_must_begin_at_zero_is_decided_by_the_first_that_asks() -> None:
    table = ProducerTable()
    for from_zero in (False, True):
        table.await_first(header(3, txn=True), from_zero=from_zero)
    assert table.admit(header(3, txn=True)) is None
    for from_zero in (True, False):
        table.await_first(header(3, pid=2, txn=True), from_zero=from_zero)
    assert error(table.admit(header(3, pid=2, txn=True))) == errors.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_marker_ends_what_asked_to_begin_unless_that_is_the_next_transaction_already() -> None:
    for from_zero, sees in ((False, None), (True, errors.OUT_OF_ORDER_SEQUENCE_NUMBER)):
        table = ProducerTable()
        table.record(header(0))
        table.await_first(header(0, txn=True), from_zero=from_zero)
        table.record_marker(read_header(records.control_marker("ABORT", 1, 0, 4)), 4, commit=False)
        answer = table.admit(header(1, txn=True))
        assert (None if answer is None else error(answer)) == sees
        table.record_marker(read_header(records.control_marker("ABORT", 1, 1, 4)), 4, commit=False)
        assert table.admit(header(0, epoch=1, txn=True)) is None


def test_a_batch_of_an_epoch_that_is_over_asks_for_nothing() -> None:
    table = ProducerTable()
    table.record(header(0, epoch=1, txn=True))
    table.await_first(header(0, epoch=0, txn=True), from_zero=False)
    assert table.admit(header(1, epoch=1, txn=True)) is None


def test_a_plain_batch_does_not_end_what_asked_to_begin_a_transaction() -> None:
    table = ProducerTable()
    table.await_first(header(0, txn=True), from_zero=False)
    table.record(header(0))
    assert error(table.admit(header(1))) == errors.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_the_oldest_open_transaction_is_known_after_each_end_and_after_a_restart() -> None:
    table = ProducerTable()
    for offset, pid in ((10, 1), (20, 2), (30, 3)):
        table.record(header(0, pid=pid, txn=True, base=offset))
    seen = [table.first_unstable()]
    for pid in (1, 3):
        table.record_marker(header(-1, pid=pid, txn=True, base=40), 0, commit=True)
        seen.append(table.first_unstable())
    assert seen == [10, 20, 20]
    assert ProducerTable.restore(table.snapshot()).first_unstable() == 20


def test_who_asked_long_ago_and_never_came_is_forgotten() -> None:
    table = ProducerTable()
    table.await_first(header(3, txn=True), from_zero=False, now_ms=1_000)
    table.await_first(header(3, pid=2, txn=True), from_zero=False, now_ms=5_000)
    table.expire(2_000)
    assert table.admit(header(4, txn=True)) is None, "nobody waits for sequence 3 of producer 1 any more"
    assert error(table.admit(header(4, pid=2, txn=True))) == errors.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_of_a_crowd_that_asks_and_never_comes_the_newest_are_remembered() -> None:
    table = ProducerTable()
    for pid in range(1, MOST_AWAITED + 2):
        table.await_first(header(3, txn=True)._replace(producer_id=pid), from_zero=False)
    assert table.admit(header(4, txn=True)) is None
    assert error(table.admit(header(4, pid=2, txn=True))) == errors.OUT_OF_ORDER_SEQUENCE_NUMBER
