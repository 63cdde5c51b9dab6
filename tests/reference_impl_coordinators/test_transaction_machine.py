"""The transaction machine under everything that producers, coordinators and crashes may do, in any order."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from brokertrial.reference_impl.txn import layout, state, version2
from brokertrial.reference_impl.txn.pids import BLOCK, ProducerIds
from brokertrial.reference_impl.txn.state import LAST_EPOCH, Transaction, TransactionState, Transition
from brokertrial.wire import errors

TIMEOUT_MS = 1_000


class TransactionMachine(RuleBasedStateMachine):
    """One transactional id, up to two incarnations of its producer, and the log that a restart reads back."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0
        self.ids = ProducerIds(self._allocate)
        self.allocated = 0
        self.t = Transaction("x", self.ids.next(), TIMEOUT_MS)
        self.log: list[Transaction] = []
        self.producers: list[tuple[int, int]] = []
        self.handed_out: set[tuple[int, int]] = set()
        self.decided: list[tuple[TransactionState, frozenset[tuple[str, int]]]] = []

    def _allocate(self, count: int) -> int:
        self.allocated += count
        return self.allocated - count

    def _take(self, step: Transition) -> int:
        if step.transaction is not self.t:
            before, self.t = self.t, step.transaction
            assert (self.t.producer_id, self.t.epoch) >= (before.producer_id, before.epoch), "epochs never fall"
            self.log.append(self.t)
            if self.t.ending:
                assert before.state is TransactionState.ONGOING
                self.decided.append((self.t.state, self.t.partitions))
        return step.error

    def _current(self) -> tuple[int, int]:
        return self.t.producer_id, self.t.epoch

    @rule()
    def a_producer_starts(self) -> None:
        code = self._take(state.init_producer(self.t, TIMEOUT_MS, None, self.now, self.ids.next))
        if code == errors.NONE:
            assert self._current() not in self.handed_out, "no two producers share an epoch"
            self.handed_out.add(self._current())
            self.producers.append(self._current())
        else:
            assert code == errors.CONCURRENT_TRANSACTIONS and self.t.ending

    @rule(data=st.data())
    def a_producer_goes_on(self, data: st.DataObject) -> None:
        """KIP-360: only the newest incarnation, or its own retry, may raise its epoch."""
        if not self.producers:
            return
        mine = data.draw(st.sampled_from(self.producers))
        before, newest = self.t, mine == self._current()
        step = state.init_producer(before, TIMEOUT_MS, mine, self.now, self.ids.next)
        code = self._take(step)
        if code == errors.NONE:
            retry = mine == (before.producer_id, before.last_epoch) or mine[0] == before.previous_producer_id
            assert newest or retry
            assert self.t.epoch <= LAST_EPOCH, "the one after the last is for aborts alone"
            self.handed_out.add(self._current())
            self.producers.append(self._current())

    @rule(data=st.data(), partition=st.integers(0, 3))
    def a_producer_adds(self, data: st.DataObject, partition: int) -> None:
        if not self.producers:
            return
        mine = data.draw(st.sampled_from(self.producers))
        code = self._take(state.add_partitions(self.t, *mine, [("t", partition)], self.now))
        if code == errors.NONE:
            assert mine == self._current() and ("t", partition) in self.t.partitions
            assert state.verify(self.t, *mine, [("t", partition)]) == {("t", partition): errors.NONE}
        assert (mine == self._current()) or code in (errors.PRODUCER_FENCED, errors.INVALID_PRODUCER_ID_MAPPING)

    @rule(data=st.data(), commit=st.booleans())
    def a_producer_ends(self, data: st.DataObject, commit: bool) -> None:
        if not self.producers:
            return
        mine, before = data.draw(st.sampled_from(self.producers)), self.t
        code = self._take(state.end(self.t, *mine, commit, self.now))
        if mine != self._current():
            assert code in (errors.PRODUCER_FENCED, errors.INVALID_PRODUCER_ID_MAPPING) and self.t is before
        elif before.state is TransactionState.ONGOING:
            assert code == errors.NONE and self.t.ending
        elif code == errors.NONE:
            assert before.state is (TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT)

    @rule(data=st.data(), commit=st.booleans())
    def a_producer_ends_and_raises_its_epoch(self, data: st.DataObject, commit: bool) -> None:
        """transaction.version 2: a new epoch with every end, and a retry recognised by the epoch before."""
        if not self.producers:
            return
        mine, before = data.draw(st.sampled_from(self.producers)), self.t
        step = version2.end(self.t, *mine, commit, self.now, self.ids.next)
        if step.transaction is not before:
            assert mine == self._current(), "only the newest incarnation decides"
            assert before.state is TransactionState.ONGOING or not commit, "only an abort may be empty"
            self._take_decided(step, before)
            told = version2.next_incarnation(self.t)
            assert told not in self.handed_out and told > mine
            self.handed_out.add(told)
            self.producers.append(told)
        elif step.error == errors.NONE:
            assert before.state is (TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT)
            assert mine != self._current(), "the same epoch would be the next transaction"

    def _take_decided(self, step: Transition, before: Transaction) -> None:
        self.t = step.transaction
        self.log.append(self.t)
        self.decided.append((self.t.state, self.t.partitions))
        assert self.t.epoch == before.epoch + 1 and self.t.partitions == before.partitions

    @rule()
    def markers_are_written(self) -> None:
        if self.t.ending:
            self._take(Transition(state.complete(self.t, self.now)))
            assert not self.t.partitions

    @rule(ms=st.sampled_from([1, TIMEOUT_MS // 2, TIMEOUT_MS]))
    def time_passes(self, ms: int) -> None:
        self.now += ms
        if state.overdue(self.t, self.now):
            self._take(Transition(state.fenced(self.t, self.now)))
            assert self.t.state is TransactionState.PREPARE_ABORT

    @rule(version=st.sampled_from([0, 1, 2]))
    def the_coordinator_restarts(self, version: int) -> None:
        if self.log:
            back = layout.read_value("x", layout.value(self.log[-1], version))
            known = replace(self.log[-1], last_epoch=-1)
            lean = replace(known, previous_producer_id=-1, next_producer_id=-1, client_version=0)
            assert back == (lean if version == 0 else known)
            self.t = back
            if version == 0 and self.t.client_version != self.log[-1].client_version:
                self.t = self.log[
                    -1
                ]  # value 0 cannot hold what transaction.version 2 needs, and Kafka never mixes them

    @rule()
    def the_epoch_is_nearly_used_up(self) -> None:
        if self.t.state is TransactionState.EMPTY and 0 <= self.t.epoch < LAST_EPOCH - 1:
            self._take(Transition(replace(self.t, epoch=LAST_EPOCH - 1)))
            self.producers = [self._current()]
            self.handed_out.add(self._current())

    @invariant()
    def the_state_fits(self) -> None:
        assert self.t.epoch <= LAST_EPOCH + 1
        assert bool(self.t.partitions) <= (
            self.t.state in (TransactionState.ONGOING, TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
        )
        assert not self.t.ending or self.t.partitions or self.t.client_version == 2
        assert (self.t.state is TransactionState.EMPTY) <= (self.t.started_ms == -1)


TestTransactionMachine = TransactionMachine.TestCase
TestTransactionMachine.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)


def test_a_used_up_epoch_takes_a_new_producer_id() -> None:
    ids = ProducerIds(lambda count: 0)
    t = Transaction("x", ids.next(), TIMEOUT_MS, epoch=LAST_EPOCH)
    fresh = state.init_producer(t, TIMEOUT_MS, None, 0, ids.next).transaction
    assert (fresh.producer_id, fresh.epoch, fresh.previous_producer_id) == (1, 0, 0)
    late = state.init_producer(fresh, TIMEOUT_MS, (0, LAST_EPOCH), 0, ids.next)
    assert late.error == errors.PRODUCER_FENCED, "a plain restart forgets who had the id before"
    kept = state.init_producer(t, TIMEOUT_MS, (0, LAST_EPOCH), 0, ids.next).transaction
    again = state.init_producer(kept, TIMEOUT_MS, (0, LAST_EPOCH), 0, ids.next)
    assert (again.error, again.transaction.epoch) == (errors.NONE, 0), "its own retry gets the same answer"


def test_who_was_fenced_in_the_last_epoch_goes_on_under_a_new_producer_id() -> None:
    """The abort has raised the epoch beyond the last: handed out, the next abort would raise it out of 16 bits."""
    ids = ProducerIds(lambda count: 0)
    t = Transaction(
        "x", ids.next(), TIMEOUT_MS, epoch=LAST_EPOCH, state=TransactionState.ONGOING, partitions=frozenset({("t", 0)})
    )
    aborted = state.complete(state.fenced(t, 0), 0)
    assert (aborted.epoch, aborted.last_epoch) == (LAST_EPOCH + 1, LAST_EPOCH)
    goes_on = state.init_producer(aborted, TIMEOUT_MS, (0, LAST_EPOCH), 0, ids.next)
    assert (goes_on.error, goes_on.transaction.producer_id, goes_on.transaction.epoch) == (errors.NONE, 1, 0)
    again = state.init_producer(goes_on.transaction, TIMEOUT_MS, (0, LAST_EPOCH), 0, ids.next)
    assert (again.error, again.transaction.producer_id, again.transaction.epoch) == (errors.NONE, 1, 0), "its retry"


def test_the_last_epoch_of_version_2_completes_into_a_new_producer_id() -> None:
    ids = ProducerIds(lambda count: 0)
    t = Transaction(
        "x", ids.next(), TIMEOUT_MS, epoch=LAST_EPOCH, state=TransactionState.ONGOING, partitions=frozenset({("t", 0)})
    )
    prepared = version2.end(t, 0, LAST_EPOCH, True, 0, ids.next).transaction
    assert (prepared.producer_id, prepared.epoch) == (0, LAST_EPOCH + 1), "markers fence the old id for good"
    assert version2.next_incarnation(prepared) == (1, 0)
    done = state.complete(layout.read_value("x", layout.value(prepared, 2)), 0)
    assert (done.producer_id, done.epoch, done.previous_producer_id) == (1, 0, 0)
    retried = version2.end(done, 0, LAST_EPOCH, True, 0, ids.next)
    assert (retried.error, version2.next_incarnation(retried.transaction)) == (errors.NONE, (1, 0))
    opposite = version2.end(done, 0, LAST_EPOCH, False, 0, ids.next)
    assert opposite.error == errors.INVALID_TXN_STATE


def test_blocks_of_producer_ids_follow_each_other() -> None:
    firsts = iter((0, 5 * BLOCK))
    ids = ProducerIds(lambda count: next(firsts))
    assert [ids.next() for _ in range(BLOCK + 1)] == [*range(BLOCK), 5 * BLOCK]


def test_a_retry_is_known_by_the_epoch_before_whoever_raised_it() -> None:
    t = Transaction("x", 7, TIMEOUT_MS, epoch=1, state=TransactionState.COMPLETE_COMMIT)
    codes = {
        (epoch, commit): version2.end(t, 7, epoch, commit, 0, lambda: 8).error
        for epoch in (-1, 0)
        for commit in (True, False)
    }
    assert codes == {
        (0, True): errors.NONE,
        (0, False): errors.INVALID_TXN_STATE,
        (-1, True): errors.PRODUCER_FENCED,
        (-1, False): errors.PRODUCER_FENCED,
    }


def test_an_end_in_the_classic_protocol_is_known_by_the_epoch_that_it_left() -> None:
    """Whoever says it again in version 2 is busy or contradicts it, and is not fenced."""
    t = Transaction("x", 7, TIMEOUT_MS, epoch=1, state=TransactionState.PREPARE_COMMIT)
    same, opposite = (version2.end(t, 7, 1, commit, 0, lambda: 8).error for commit in (True, False))
    assert (same, opposite) == (errors.CONCURRENT_TRANSACTIONS, errors.INVALID_TXN_STATE)
    assert version2.end(t, 7, 0, True, 0, lambda: 8).error == errors.CONCURRENT_TRANSACTIONS
