"""A producer with an id, as a client has it: it counts sequences, opens transactions and ends them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from brokertrial.suites.probe.answer import Response
from brokertrial.suites.probe.produce import Produced, batch
from brokertrial.suites.probe.transactions import Identity


class Producer:
    """`wire.producer()` is idempotent, `wire.producer(transactional_id)` transactional.

    It follows the transaction protocol that the cluster has finalized: with transaction.version 2 partitions join a
    transaction by being written to and each end gives the next epoch; before, they are added by request.
    """

    def __init__(self, wire: Any, transactional_id: str | None, timeout_ms: int, via: str) -> None:
        self.wire = wire
        self.transactional_id = transactional_id
        self.timeout_ms = timeout_ms
        self.via = via
        self.id = -1
        self.epoch = -1
        self.sequences: dict[tuple[str, int], int] = {}
        self._in_transaction: set[tuple[str, int]] = set()
        self.start()

    @property
    def _implicit(self) -> bool:
        return bool(self.wire.transaction_version >= 2) and max(self.wire.versions("Produce"), default=0) >= 12

    def start(self) -> Identity:
        """InitProducerId: a new id, or the next epoch of the transactional id, which fences the one before.

        Its transaction that was open is aborted by that.
        """
        answer: Identity = self.wire.init_producer_id(self.transactional_id, timeout_ms=self.timeout_ms, via=self.via)
        self._in_transaction.clear()
        self._take(answer.producer_id, answer.epoch)
        return answer

    def go_on(self, **how: Any) -> Identity:
        """InitProducerId with its own id and epoch, as after its transaction was aborted (KIP-360, KIP-588)."""
        answer: Identity = self.wire.init_producer_id(
            self.transactional_id,
            timeout_ms=self.timeout_ms,
            producer_id=self.id,
            epoch=self.epoch,
            via=self.via,
            **how,
        )
        self._in_transaction.clear()
        self._take(answer.producer_id, answer.epoch)
        return answer

    def send(
        self,
        topic: str,
        *values: bytes | str,
        partition: int = 0,
        sequence: int | None = None,
        epoch: int | None = None,
        wait: bool = True,
        via: str | None = None,
        **settings: Any,
    ) -> Produced:
        """One batch with the next sequence (or the one given, which is then not counted).

        In a transaction, when there is one to be in: the partition is added first where the protocol asks for that.
        """
        return self.prepared(topic, *values, partition=partition, sequence=sequence, epoch=epoch, via=via, **settings)(
            wait=wait
        )

    def prepared(
        self,
        topic: str,
        *values: bytes | str,
        partition: int = 0,
        sequence: int | None = None,
        epoch: int | None = None,
        via: str | None = None,
        **settings: Any,
    ) -> Callable[..., Produced]:
        """The batch that `send` would send now, to be sent by calling it: once, or again where it was refused."""
        place = (topic, partition)
        first = self.sequences.get(place, 0) if sequence is None else sequence
        transactional = self.transactional_id is not None
        if transactional and not self._implicit and place not in self._in_transaction:
            self.add(topic, partition).must_succeed()
        self._in_transaction.add(place)
        made = self.batch(*values, sequence=first, epoch=epoch, **settings)
        if sequence is None:
            self.sequences[place] = (first + max(len(values), len(settings.get("records", ())))) & 0x7FFFFFFF
        step = "transaction" if transactional else "idempotent-write"
        if sequence is not None or epoch is not None or settings:
            step = ""
        version = None
        if transactional and not self._implicit:
            version = min(11, max(self.wire.versions("Produce"), default=11))
        return partial(
            self.wire.produce,
            topic,
            made,
            partition,
            transactional_id=self.transactional_id,
            version=version,
            via=via or self.via,
            step=step,
        )

    def batch(self, *values: bytes | str, sequence: int, epoch: int | None = None, **settings: Any) -> bytes:
        """The bytes of a batch of this producer, to send as often as the case wants to.

        Its time is now: a broker may forget a producer whose newest record looks a day old (producer.id.expiration.ms).
        """
        given = {
            "timestamp": self.wire.now_ms(),
            "producer_id": self.id,
            "producer_epoch": self.epoch if epoch is None else epoch,
            "base_sequence": sequence,
            "transactional": self.transactional_id is not None,
            **settings,
        }
        return batch(*values, **given)

    def begin_at(self, topic: str, made: bytes) -> Produced:
        """A batch whose sequence is not 0, the first that the partition sees of this producer."""
        answer: Produced = self.wire.produce(topic, made, step="first-sequence")
        return answer

    def raise_epoch(self, topic: str, made: bytes) -> Produced:
        """The first batch of an epoch that this producer raised itself (KIP-360)."""
        answer: Produced = self.wire.produce(topic, made, step="newer-epoch")
        return answer

    def add(self, topic: str, partition: int = 0) -> Response:
        """AddPartitionsToTxn of one partition, as it is."""
        self._in_transaction.add((topic, partition))
        answer: Response = self.wire.add_partitions(
            self.transactional_id, self.id, self.epoch, [(topic, partition)], via=self.via
        )
        return answer

    def send_offsets(self, group: str, offsets: Mapping[tuple[str, int], int], **settings: Any) -> Response:
        """Offsets of a group that are committed with the transaction."""
        return self.prepared_offsets(group, offsets)(**settings)

    def prepared_offsets(self, group: str, offsets: Mapping[tuple[str, int], int]) -> Callable[..., Response]:
        """What `send_offsets` would send now, to be sent by calling it; the group is in the transaction by then."""
        if not self._implicit:
            self.wire.add_offsets(self.transactional_id, self.id, self.epoch, group, via=self.via).must_succeed()
        return partial(
            self.wire.txn_offset_commit, self.transactional_id, self.id, self.epoch, group, offsets, via=self.via
        )

    def commit(self, *, wait: bool = True) -> Identity:
        """EndTxn(commit)."""
        return self._end(True, wait)

    def abort(self, *, wait: bool = True) -> Identity:
        """EndTxn(abort)."""
        return self._end(False, wait)

    def _end(self, commit: bool, wait: bool) -> Identity:
        answer: Identity = self.wire.end_txn(
            self.transactional_id, self.id, self.epoch, commit=commit, wait=wait, via=self.via
        )
        self._in_transaction.clear()
        if wait:
            self.ended(answer)
        return answer

    def ended(self, answer: Identity) -> None:
        """Goes on with the epoch that an EndTxn gives from v5 on; for an end that was not waited for."""
        self._in_transaction.clear()
        told = answer.asked.wait()
        if answer.version >= 5 and told.error_code == 0:
            self._take(told.producer_id, told.producer_epoch)

    def _take(self, producer_id: int, epoch: int) -> None:
        if (producer_id, epoch) != (self.id, self.epoch):
            self.sequences.clear()
        self.id, self.epoch = producer_id, epoch
