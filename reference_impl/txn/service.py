"""The transaction coordinator at its edge: transactional ids of this node, their log, markers, time-outs, producer ids.

The decisions are in `state.py`. A changed transaction is in `__transaction_state` before anyone is answered; markers
go out just after, and again after a restart, until every partition has its own.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.coordinator.loading import Loads, read_through
from brokertrial.reference_impl.coordinator.placement import partition_for
from brokertrial.reference_impl.coordinator.topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from brokertrial.reference_impl.log.validate import Rejected
from brokertrial.reference_impl.txn import layout, state, version2
from brokertrial.reference_impl.txn.admission import asked, fits, for_append, for_offsets, last_before_abortable
from brokertrial.reference_impl.txn.markers import MarkerSender
from brokertrial.reference_impl.txn.pids import ProducerIds
from brokertrial.reference_impl.txn.state import TopicPartition, Transaction, TransactionState, Transition
from brokertrial.wire import errors
from brokertrial.wire.records import Batch, Record, build_batch

if TYPE_CHECKING:
    from brokertrial.reference_impl.clock import Timer
    from brokertrial.reference_impl.replica.local_node import LocalNode
    from brokertrial.reference_impl.replica.partition import Partition

_READ_LIMIT = 1 << 30
_FINISH_AGAIN_S = 0.5
_SOON_S = 10.0  # only with K39
_OFFSETS_JOIN_SINCE = 5  # the same of TxnOffsetCommit
_JOINS_SINCE = 12  # the Produce version from which a partition joins its transaction by being written to
log = logging.getLogger("transactions")


class TransactionService:
    """Every transactional id whose coordinator is this node."""

    def __init__(self, node: LocalNode) -> None:
        self._node = node
        self._transactions: dict[str, Transaction] = {}
        self._resigned_at: dict[int, float] = {}
        self._ids = ProducerIds(node.allocate_producer_ids)
        self._sweep: Timer | None = None
        self._expiry: Timer | None = None
        self.loads = Loads(node.clock)
        self._sender = MarkerSender(node, self._complete)

    # -- life ----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Reads all ids back from the log and finishes what was decided before the stop."""
        for index in self._node.led_indexes(TRANSACTION_STATE):
            self.elected(index)
        self._sweep_later()
        self._expire_later()

    def elected(self, index: int) -> None:
        """This node coordinates one more partition's ids, once it has read them back; what was decided is finished."""
        if (partition := self._node.partition(TRANSACTION_STATE, index)) is not None:
            if bugs.on("K39") and self._node.clock.monotonic() - self._resigned_at.get(index, -_SOON_S) < _SOON_S:
                self.loads.fail(index)
                return
            self.loads.begin(partition, self._loading(partition))

    def resigned(self, index: int) -> None:
        """Another node coordinates them now, or their log was deleted; what is known here is forgotten."""
        self.loads.give_up(index)
        self._resigned_at[index] = self._node.clock.monotonic()
        for name in () if bugs.on("X12") else self._of(index):
            self._ids.resigned(name, self._transactions.pop(name).producer_id)
        self._sender.stop() if bugs.on("B94") else None

    def _of(self, index: int) -> list[str]:
        all_ = self._node.topics.get(TRANSACTION_STATE) is None
        return [name for name in self._transactions if all_ or self._partition_of(name) == index]

    def stop(self) -> None:
        for timer in (self._sweep, self._expiry):
            if timer is not None:
                timer.cancel()
        self.loads.stop()
        self._sender.stop()

    def find(self, transactional_id: str) -> Transaction | None:
        return self._transactions.get(transactional_id)

    def all(self) -> Iterable[Transaction]:
        return self._transactions.values()

    def fresh_producer_id(self) -> int:
        return self._ids.next()

    # -- what producers ask --------------------------------------------------------------------------------------

    def init_producer(self, transactional_id: str, timeout_ms: int, expected: tuple[int, int] | None) -> Transition:
        """The id and epoch under which a producer may go on; 51 while an earlier transaction is still being ended."""
        if not 0 < timeout_ms <= self._node.config["transaction.max.timeout.ms"]:
            return Transition(_nobody(transactional_id), errors.INVALID_TRANSACTION_TIMEOUT)
        known = self._transactions.get(transactional_id)
        now_ms = self._node.clock.now_ms()
        before = known or Transaction(transactional_id, self._ids.next(transactional_id), timeout_ms, updated_ms=now_ms)
        return self._settle(before, state.init_producer(before, timeout_ms, expected, now_ms, self.fresh_producer_id))

    def add_partitions(
        self, transactional_id: str, producer_id: int, epoch: int, partitions: Collection[TopicPartition]
    ) -> int:
        before = self._transactions.get(transactional_id)
        if not transactional_id or before is None:
            return errors.INVALID_PRODUCER_ID_MAPPING if transactional_id else errors.INVALID_REQUEST
        step = state.add_partitions(before, producer_id, epoch, partitions, self._node.clock.now_ms())
        return self._settle(before, step).error

    def end(
        self, transactional_id: str, producer_id: int, epoch: int, commit: bool, *, raise_epoch: bool
    ) -> Transition:
        before = self._transactions.get(transactional_id)
        if not transactional_id or before is None:
            error = errors.INVALID_PRODUCER_ID_MAPPING if transactional_id else errors.INVALID_REQUEST
            return Transition(_nobody(transactional_id), error)
        if (producer_id, epoch) != (before.producer_id, before.epoch) and bugs.on("M13b"):
            producer_id, epoch = before.producer_id, before.epoch
        now_ms = self._node.clock.now_ms()
        if raise_epoch and not bugs.on("M20"):
            step = version2.end(before, producer_id, epoch, commit, now_ms, self.fresh_producer_id)
        else:
            step = state.end(before, producer_id, epoch, commit, now_ms)
        if step.error == errors.INVALID_TXN_STATE and before.state is not TransactionState.EMPTY and bugs.on("M18c"):
            step = Transition(before)
        return self._settle(before, step)

    def verify(
        self, transactional_id: str, producer_id: int, epoch: int, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """Whether each partition belongs to the open transaction of this producer."""
        if not transactional_id:
            return dict.fromkeys(partitions, errors.INVALID_REQUEST)
        transaction = self._transactions.get(transactional_id)
        if transaction is None:
            return dict.fromkeys(partitions, errors.INVALID_PRODUCER_ID_MAPPING)
        return state.verify(transaction, producer_id, epoch, partitions)

    def admit(
        self, transactional_id: str | None, producer_id: int, producer_epoch: int, partitions: list[TopicPartition], *,
        version: int,
    ) -> dict[TopicPartition, int]:  # fmt: skip
        """Which partitions a transactional Produce may write to: those whose transaction is open.

        From v12 they join it by that (transaction.version 2). The codes are those that a producer of this version
        understands: 120 from v11, 48 before it.
        """
        if transactional_id is None:
            return dict.fromkeys(partitions, errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        codes = {p: self._stale(p, producer_id, producer_epoch) for p in partitions}
        asked = [p for p in partitions if not codes[p] and not self._is_open(p, producer_id, producer_epoch)]
        add = version >= _JOINS_SINCE
        if asked and self._is_verified(add=add):
            found = self._admitted(transactional_id, producer_id, producer_epoch, asked, add=add)
            wrong = {p: code for p, code in found.items() if code and not bugs.on("M20b")}
            abortable = version > last_before_abortable("Produce")
            codes.update({p: for_append(code, abortable=abortable, add=add) for p, code in wrong.items()})
        return codes

    async def ask_for_admission(
        self, transactional_id: str, wanted: dict[tuple[int, int], list[TopicPartition]], *, version: int
    ) -> dict[tuple[str | None, int], int]:
        """The same where the coordinator may be another node; `wanted` is by producer id and epoch."""
        codes: dict[tuple[str | None, int], int] = {}
        add = version >= _JOINS_SINCE
        for (producer_id, epoch), partitions in wanted.items() if self._is_verified(add=add) else ():
            stale = {p: code for p in partitions if (code := self._stale(p, producer_id, epoch))}
            asking = [p for p in partitions if p not in stale]
            found = await asked(self._node, transactional_id, producer_id, epoch, asking, add=add) if asking else {}
            told = {
                p: for_append(code, abortable=version > last_before_abortable("Produce"), add=add)
                for p, code in found.items()
            }
            codes.update((stale | told).items())
        return codes

    async def ask_for_offsets(
        self, transactional_id: str, producer_id: int, epoch: int, index: int, *, version: int
    ) -> int:
        """The same for a TxnOffsetCommit."""
        where, add = (CONSUMER_OFFSETS, index), version >= _OFFSETS_JOIN_SINCE
        if (stale := self._stale(where, producer_id, epoch)) or not self._asks(where, producer_id, epoch, add=add):
            return stale
        found = await asked(self._node, transactional_id, producer_id, epoch, [where], add=add)
        return for_offsets(found[where], version, add=add)

    def admit_offsets(self, transactional_id: str, producer_id: int, epoch: int, index: int, *, version: int) -> int:
        """The same for a TxnOffsetCommit, whose partition is one of the offsets topic."""
        where, add = (CONSUMER_OFFSETS, index), version >= _OFFSETS_JOIN_SINCE
        if (stale := self._stale(where, producer_id, epoch)) or not self._asks(where, producer_id, epoch, add=add):
            return stale
        return for_offsets(
            self._admitted(transactional_id, producer_id, epoch, [where], add=add)[where], version, add=add
        )

    def _admitted(
        self, transactional_id: str, producer_id: int, epoch: int, partitions: list[TopicPartition], *, add: bool
    ) -> dict[TopicPartition, int]:
        """Verified to be part of the transaction, or (transaction.version 2) taken into it."""
        if loading := self.loads.refusal(self._partition_of(transactional_id)):
            return dict.fromkeys(partitions, loading)
        if add:
            joining = partitions[:1] if bugs.on("E01") else partitions
            try:
                code = self.add_partitions(transactional_id, producer_id, epoch, joining)
            except Rejected as rejected:
                log.warning("%s: takes no partition: %s", transactional_id, rejected)
                code = errors.COORDINATOR_NOT_AVAILABLE
            return dict.fromkeys(partitions, code)
        return self.verify(transactional_id, producer_id, epoch, partitions)

    def _asks(self, where: TopicPartition, producer_id: int, epoch: int, *, add: bool) -> bool:
        """Whether the coordinator is asked about a TxnOffsetCommit."""
        return self._is_verified(add=add) and not self._is_open(where, producer_id, epoch)

    def _is_verified(self, *, add: bool) -> bool:
        """What joins a transaction by being written is taken into it whatever the setting says (ReplicaManager)."""
        return (add and not bugs.on("B317")) or bool(self._node.config["transaction.partition.verification.enable"])

    def _stale(self, where: TopicPartition, producer_id: int, epoch: int) -> int:
        """47 for an epoch below the one that the partition knows, whatever the coordinator would say."""
        partition = self._node.partition(*where)
        entry = partition.producers.entries.get(producer_id) if partition is not None else None
        return errors.INVALID_PRODUCER_EPOCH if entry is not None and epoch < entry.epoch else errors.NONE

    def _is_open(self, where: TopicPartition, producer_id: int, epoch: int) -> bool:
        partition = self._node.partition(*where)
        entry = partition.producers.entries.get(producer_id) if partition is not None else None
        return entry is not None and entry.epoch == epoch and entry.open_transaction is not None

    # -- effects -------------------------------------------------------------------------------------------------

    def _settle(self, before: Transaction, step: Transition) -> Transition:
        """Makes a step durable, and sends the markers of a decision on their way."""
        step = Transition(before, errors.CONCURRENT_TRANSACTIONS) if before.being_written else step
        if step.transaction is not before:
            self._save(step.transaction)
            if step.transaction.ending:
                self._finish_soon(step.transaction.transactional_id)
        return step

    def _save(self, transaction: Transaction) -> None:
        value = layout.value(transaction, self._node.feature("transaction.version"))
        if bugs.on("D86"):
            self._transactions[transaction.transactional_id] = transaction
        if bugs.on("B83"):
            self._transactions |= state.unwritten(transaction, self._transactions)
        self._append(transaction.transactional_id, value)
        self._transactions[transaction.transactional_id] = transaction

    def _append(self, transactional_id: str, value: bytes | None) -> None:
        """Raises Rejected where the log cannot be written: nothing has happened then."""
        partition = self._node.partition(TRANSACTION_STATE, self._partition_of(transactional_id))
        record = Record(key=layout.key(transactional_id), value=value, timestamp=self._node.clock.now_ms())
        fits(partition, batch := build_batch([record]))
        self._node.append_internal(TRANSACTION_STATE, self._partition_of(transactional_id), batch)

    def _partition_of(self, transactional_id: str) -> int:
        topic = self._node.ensure_internal(TRANSACTION_STATE)
        if topic is None or bugs.on("D77"):
            return partition_for(transactional_id, self._node.config["transaction.state.log.num.partitions"])
        return partition_for(transactional_id, topic.partitions)

    def _finish_soon(self, transactional_id: str, delay_s: float = 0) -> None:
        self._node.clock.call_later(delay_s, functools.partial(self._finish, transactional_id))

    def _finish(self, transactional_id: str) -> None:
        """Ends a decided transaction; what cannot be written now, on a full disk, is written later."""
        try:
            self._write_markers(transactional_id)
        except Rejected as rejected:
            log.warning("%s: cannot be ended yet: %s", transactional_id, rejected)
            self._finish_soon(transactional_id, _FINISH_AGAIN_S)

    def _write_markers(self, transactional_id: str) -> None:
        """Writes one marker into every partition of a decided transaction, then says that it is complete."""
        transaction = self._transactions.get(transactional_id)
        if transaction is None or not transaction.ending:
            return
        commit = transaction.state is TransactionState.PREPARE_COMMIT
        partitions = sorted(transaction.partitions)[: 100 if bugs.on("B291") else None]
        if commit and len(partitions) > 1 and bugs.on("M18a"):
            partitions.pop()
        epoch = self._coordinator_epoch(transactional_id)
        if self._node.in_cluster:
            self._sender.send(transaction, partitions, epoch, commit)
            return
        for topic, index in partitions:
            error = self._node.append_marker(
                topic, index, transaction.producer_id, transaction.epoch, epoch, commit, transaction.client_version
            )
            if error == errors.UNKNOWN_TOPIC_OR_PARTITION and ((complete := bugs.on("B315")) or bugs.on("N01")):
                return self._complete(transaction) if complete else None
            if error == errors.KAFKA_STORAGE_ERROR:
                raise Rejected(error, f"the marker for {topic}-{index}")
            if error == errors.INVALID_PRODUCER_EPOCH:
                log.warning("%s: cannot ever be ended: %s-%d knows a newer epoch", transactional_id, topic, index)
                return  # Kafka gives it up too, and leaves it prepared
            if error not in (errors.NONE, errors.UNKNOWN_TOPIC_OR_PARTITION):
                log.warning("%s: marker for %s-%d refused: %s", transactional_id, topic, index, errors.name(error))
        self._complete(transaction)

    def _complete(self, transaction: Transaction) -> None:
        """All markers are written; does nothing if the id has moved on, or away, meanwhile."""
        if self._transactions.get(transaction.transactional_id) is not transaction:
            return
        try:
            self._save(state.complete(transaction, self._node.clock.now_ms()))
        except Rejected as rejected:
            log.warning("%s: cannot be completed yet: %s", transaction.transactional_id, rejected)
            None if bugs.on("B81") else self._finish_soon(transaction.transactional_id, _FINISH_AGAIN_S)

    def _coordinator_epoch(self, transactional_id: str) -> int:
        partition = self._node.partition(TRANSACTION_STATE, self._partition_of(transactional_id))
        return partition.leader_epoch if partition is not None else 0

    def _sweep_later(self) -> None:
        delay_s = self._node.config["transaction.abort.timed.out.transaction.cleanup.interval.ms"] / 1000
        self._sweep = self._node.clock.call_later(delay_s, self._abort_overdue)

    def _abort_overdue(self) -> None:
        now_ms = self._node.clock.now_ms()
        for transaction in list(self._transactions.values())[: 64 if bugs.on("B292") else None]:
            if bugs.on("B70") and state.overdue(transaction, now_ms) and not self._may_write(transaction):
                return
            if state.overdue(transaction, now_ms) and self._may_write(transaction):
                log.info("%s: aborted, open for %d ms", transaction.transactional_id, transaction.timeout_ms)
                try:
                    self._settle(transaction, Transition(state.fenced(transaction, now_ms)))
                except Rejected as rejected:
                    log.warning("%s: the abort cannot be written yet: %s", transaction.transactional_id, rejected)
        self._sweep_later()

    def _expire_later(self) -> None:
        delay_s = self._node.config["transaction.remove.expired.transaction.cleanup.interval.ms"] / 1000
        self._expiry = self._node.clock.call_later(delay_s, self._expire)

    def _expire(self) -> None:
        """Forgets the ids that have not been used for transactional.id.expiration.ms."""
        now_ms, config = self._node.clock.now_ms(), self._node.config
        for name, transaction in list(self._transactions.items()):
            if state.unused(transaction, now_ms, config) and self._may_write(transaction):
                try:
                    self._append(name, None)
                    del self._transactions[name]
                except Rejected as rejected:
                    log.warning("%s: cannot be forgotten yet: %s", name, rejected)
        if not (bugs.on("B139") and any(state.unused(one, now_ms, config) for one in self._transactions.values())):
            self._expire_later()

    def _may_write(self, transaction: Transaction) -> bool:
        """What this coordinator decides by itself waits until enough replicas are there to keep it."""
        partition = self._node.partition(TRANSACTION_STATE, self._partition_of(transaction.transactional_id))
        held_up = bugs.on("B350") and state.has_none_to_lead(transaction, self._node.topics.get)
        return partition is not None and partition.leading is not None and not partition.under_min_isr and not held_up

    # -- the log -------------------------------------------------------------------------------------------------

    def _loading(self, partition: Partition) -> Iterator[None]:
        """Everything is read, taken over in one turn at the log's end, and then finished id by id."""
        found: dict[str, Transaction] = {}
        for batch in read_through(partition, self._node.config["transaction.state.log.load.buffer.size"]):
            if not batch.header.is_control:
                _replay(batch, found)
            yield
        found = state.taken_over(found, self._node.clock.now_ms())
        self._transactions.update(found)
        for name, transaction in found.items():
            if transaction.ending and not bugs.on("M18b"):
                self._finish_soon(name)
            yield


def _replay(batch: Batch, found: dict[str, Transaction]) -> None:
    for record in batch.records(_READ_LIMIT):
        transactional_id = layout.read_key(bytes(record.key or b""))
        if transactional_id is None or (record.value is None and bugs.on("B333")):
            continue
        if record.value is None:
            found.pop(transactional_id, None)
            continue
        read = layout.read_value(transactional_id, bytes(record.value))
        if read.state is TransactionState.ONGOING and bugs.on("M18d"):
            read = replace(read, partitions=frozenset())
        if read.state is TransactionState.ONGOING and bugs.on("C09"):
            read = replace(read, started_ms=read.updated_ms)
        found[transactional_id] = read


def _nobody(transactional_id: str) -> Transaction:
    return Transaction(transactional_id, state.NONE, 0)
