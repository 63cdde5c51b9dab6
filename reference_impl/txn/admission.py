"""A partition's leader asks the coordinator, maybe on another node, whether a transaction may write there (KIP-890).

AddPartitionsToTxn between brokers: verified only, or (transaction.version 2) added on the way. In a cluster the
question goes over the network even to this very node, so that what is added is replicated before data is appended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.coordinator.placement import partition_for
from brokertrial.reference_impl.coordinator.topics import TRANSACTION_STATE
from brokertrial.reference_impl.log.validate import Rejected
from brokertrial.reference_impl.replica.peers import PeerGone
from brokertrial.reference_impl.txn.state import TopicPartition
from brokertrial.wire import errors
from brokertrial.wire.messages import request

if TYPE_CHECKING:
    from brokertrial.reference_impl.replica.local_node import LocalNode
    from brokertrial.reference_impl.replica.partition import Partition

_VERSION = 5
_TRY_AGAIN = frozenset(
    {
        errors.CONCURRENT_TRANSACTIONS,
        errors.NETWORK_EXCEPTION,
        errors.COORDINATOR_LOAD_IN_PROGRESS,
        errors.COORDINATOR_NOT_AVAILABLE,
        errors.NOT_COORDINATOR,
    }
)


async def asked(
    node: LocalNode, transactional_id: str, producer_id: int, epoch: int, partitions: list[TopicPartition], *, add: bool
) -> dict[TopicPartition, int]:
    """The coordinator's code for each partition; 15 or NETWORK_EXCEPTION where it cannot be asked."""
    topic = node.ensure_internal(TRANSACTION_STATE)
    if topic is None:
        return dict.fromkeys(partitions, errors.COORDINATOR_NOT_AVAILABLE)
    coordinator = topic.placements[partition_for(transactional_id, topic.partitions)].leader
    by_topic: dict[str, list[int]] = {}
    for name, index in partitions:
        by_topic.setdefault(name, []).append(index)
    wanted = {
        "transactional_id": transactional_id,
        "producer_id": producer_id,
        "producer_epoch": epoch,
        "verify_only": not add,
        "topics": [{"name": name, "partitions": indexes} for name, indexes in by_topic.items()],
    }
    try:
        answer = await node.peers.call(coordinator, request("AddPartitionsToTxn", transactions=[wanted]), _VERSION)
    except PeerGone:
        return dict.fromkeys(partitions, errors.NETWORK_EXCEPTION)
    if answer.error_code:
        return dict.fromkeys(partitions, answer.error_code)
    unnamed = dict.fromkeys(partitions, errors.NETWORK_EXCEPTION)  # nobody has let those in
    return unnamed | {
        (topic.name, line.partition_index): line.partition_error_code
        for result in answer.results_by_transaction
        for topic in result.topic_results
        for line in topic.results_by_partition
    }


def for_append(code: int, *, abortable: bool, add: bool) -> int:
    """A coordinator's refusal as a partition's leader tells it to a producer: retriable where it should try again."""
    if code == errors.CONCURRENT_TRANSACTIONS and add:
        return code
    if code == errors.PRODUCER_FENCED and not bugs.on("L06"):
        return errors.INVALID_PRODUCER_EPOCH
    if code == errors.TRANSACTION_ABORTABLE and not abortable:
        return errors.INVALID_TXN_STATE
    if code == errors.NETWORK_EXCEPTION and bugs.on("K23"):
        return code
    return errors.NOT_ENOUGH_REPLICAS if code in _TRY_AGAIN else code


def for_offsets(code: int, version: int, *, add: bool) -> int:
    """The same as the coordinator of a group reports it in a TxnOffsetCommit of this version."""
    code = for_append(code, abortable=version > last_before_abortable("TxnOffsetCommit"), add=add)
    unsure = code == errors.NOT_ENOUGH_REPLICAS and not bugs.on("B268")
    return errors.COORDINATOR_NOT_AVAILABLE if unsure else code


def last_before_abortable(api: str) -> int:
    """The last version of an API that does not know TRANSACTION_ABORTABLE (120)."""
    return 10 - bugs.on("T03") if api == "Produce" else 3 - bugs.on("T04")


def fits(partition: Partition | None, batch: bytes) -> None:
    """Raises Rejected where the coordinator's log would not take this: nothing has happened then."""
    if partition is not None and partition.under_min_isr:
        raise Rejected(errors.NOT_ENOUGH_REPLICAS, "too few replicas of the coordinator's log are in sync")
    if partition is not None and len(batch) > partition.rules.max_message_bytes:
        raise Rejected(errors.MESSAGE_TOO_LARGE, f"{len(batch)} bytes are more than the coordinator's log may take")
