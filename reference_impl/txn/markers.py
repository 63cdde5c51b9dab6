"""Markers on their way to the partitions of decided transactions, wherever their leaders are.

Each decision is replicated before the first marker leaves, and each marker before the transaction is called complete.
What fails is sent again: markers are the one thing that a coordinator may not give up, unless it is deposed (52).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.control.image import NOBODY
from brokertrial.reference_impl.coordinator.placement import partition_for
from brokertrial.reference_impl.coordinator.topics import TRANSACTION_STATE
from brokertrial.reference_impl.log.validate import Rejected
from brokertrial.reference_impl.replica.peers import PeerGone
from brokertrial.reference_impl.replica.waiting import mark, settled
from brokertrial.reference_impl.txn.state import TopicPartition, Transaction
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, request

if TYPE_CHECKING:
    from brokertrial.reference_impl.replica.local_node import LocalNode

_VERSION = 1
_AGAIN_S = 0.03
_REPLICATED_WITHIN_S = 60.0
log = logging.getLogger("transactions")


class Deposed(Exception):
    """Another coordinator has taken over: this one must not end anything any more."""


class MarkerSender:
    """Sends markers until they are written; `complete` is called once all of a transaction's are."""

    def __init__(self, node: LocalNode, complete: Callable[[Transaction], None]) -> None:
        self._node, self._complete = node, complete
        self._tasks: set[asyncio.Task[None]] = set()

    def send(self, transaction: Transaction, partitions: Collection[TopicPartition], epoch: int, commit: bool) -> None:
        """Begins; returns at once."""
        task = asyncio.get_running_loop().create_task(self._finish(transaction, set(partitions), epoch, commit))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def stop(self) -> None:
        """Leaves what is not sent to the next coordinator."""
        for task in self._tasks:
            task.cancel()

    async def _finish(self, transaction: Transaction, missing: set[TopicPartition], epoch: int, commit: bool) -> None:
        try:
            if bugs.on("B17"):
                missing = await self._sent(transaction, missing, epoch, commit)
            if await self._decided(transaction):
                rounds = 0
                while missing := await self._sent(transaction, missing, epoch, commit):
                    rounds += 1
                    if rounds == 100 and bugs.on("B352"):
                        return
                    await asyncio.sleep(_AGAIN_S)
                await self._completed(transaction)
        except Deposed:
            log.info("%s: another coordinator ends it", transaction.transactional_id)

    async def _completed(self, transaction: Transaction) -> None:
        """Says so in the log, as soon as the disk has room for it."""
        while True:
            try:
                return self._complete(transaction)
            except Rejected as rejected:
                log.warning("%s: its end cannot be written yet: %s", transaction.transactional_id, rejected)
                await asyncio.sleep(_AGAIN_S)

    def _where(self, transaction: Transaction) -> int:
        topic = self._node.topics.get(TRANSACTION_STATE)
        return partition_for(transaction.transactional_id, topic.partitions if topic is not None else 1)

    async def _decided(self, transaction: Transaction) -> bool:
        """True once the decision cannot be lost any more."""
        partition = self._node.partition(TRANSACTION_STATE, self._where(transaction))
        if partition is None:
            return False
        where = mark(partition)
        while (
            state := (await settled([where], self._node.clock, _REPLICATED_WITHIN_S))[0]
        ) == errors.REQUEST_TIMED_OUT:
            log.warning("%s: its decision is not replicated yet", transaction.transactional_id)
        return state in (errors.NONE, errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND)

    async def _sent(
        self, transaction: Transaction, missing: set[TopicPartition], epoch: int, commit: bool
    ) -> set[TopicPartition]:
        """Sends to every leader once; what is still missing."""
        mine = self._node.partition(TRANSACTION_STATE, self._where(transaction))
        if mine is None or mine.leading is None or mine.leader_epoch != epoch:
            raise Deposed
        by_leader: dict[int, list[TopicPartition]] = {}
        left: set[TopicPartition] = set()
        for name, index in missing:
            topic = self._node.topics.get(name)
            if topic is None or index >= topic.partitions:
                continue  # deleted meanwhile: nothing is left to be ended there
            leader = topic.placements[index].leader
            if leader == NOBODY and bugs.on("V71"):
                continue
            (left.add((name, index)) if leader == NOBODY else by_leader.setdefault(leader, []).append((name, index)))
        if left and bugs.on("B156"):
            return set(missing)
        rounds = [self._ask(leader, transaction, wanted, epoch, commit) for leader, wanted in by_leader.items()]
        for answered in await asyncio.gather(*rounds):
            left |= answered
        return left

    async def _ask(
        self, leader: int, transaction: Transaction, wanted: list[TopicPartition], epoch: int, commit: bool
    ) -> set[TopicPartition]:
        by_topic: dict[str, list[int]] = {}
        for name, index in wanted:
            by_topic.setdefault(name, []).append(index)
        marker = {
            "producer_id": transaction.producer_id,
            "producer_epoch": transaction.epoch,
            "transaction_result": commit,
            "topics": [{"name": name, "partition_indexes": indexes} for name, indexes in by_topic.items()],
            "coordinator_epoch": epoch,
        }
        try:
            answer = await self._node.peers.call(leader, request("WriteTxnMarkers", markers=[marker]), _VERSION)
        except PeerGone:
            return set() if bugs.on("D83") else set(wanted)
        return _unwritten(transaction, answer)


def _unwritten(transaction: Transaction, answer: Struct) -> set[TopicPartition]:
    """What has to be sent again; a marker that an older epoch refuses (47) has been written before."""
    left = set()
    for topic in answer.markers[0].topics:
        for line in topic.partitions:
            if line.error_code == errors.TRANSACTION_COORDINATOR_FENCED:
                raise Deposed
            if line.error_code == errors.INVALID_PRODUCER_EPOCH:
                where = f"{topic.name}-{line.partition_index}"
                log.warning("%s: marker for %s refused: a newer epoch is there", transaction.transactional_id, where)
            elif line.error_code:
                left.add((topic.name, line.partition_index))
    return left
