"""How a transactional id lies in `__transaction_state`: Kafka's TransactionLogKey and TransactionLogValue.

Value version 1 (written once the feature transaction.version is 1 or more) is the flexible one; its tagged fields
carry what the rotation of a producer id and transaction.version 2 need. `last_epoch` has no field: it does not
survive a restart, in Kafka neither.
"""

from __future__ import annotations

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.group.layout import leading, prefixed
from brokertrial.reference_impl.txn.state import Transaction, TransactionState
from brokertrial.wire.codec import decode
from brokertrial.wire.messages import data

_KEY = 0
_EVER_MS = 1 << 50
"""By which a broker with a planted bug takes a transaction for younger than it is."""


def key(transactional_id: str) -> bytes:
    return prefixed(_KEY, data("TransactionLogKey", transactional_id=transactional_id), 0)


def value(t: Transaction, transaction_version: int) -> bytes:
    """One transaction as a record value, in the version that the finalized feature level asks for."""
    version = 1 if transaction_version >= 1 else 0
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(t.partitions):
        by_topic.setdefault(topic, []).append(partition)
    partitions = [{"topic": topic, "partition_ids": ids} for topic, ids in by_topic.items()]
    message = data(
        "TransactionLogValue",
        producer_id=t.producer_id,
        producer_epoch=t.epoch,
        transaction_timeout_ms=t.timeout_ms,
        transaction_status=int(t.state),
        transaction_partitions=None if t.state is TransactionState.EMPTY else partitions,
        transaction_last_update_timestamp_ms=t.updated_ms,
        transaction_start_timestamp_ms=t.started_ms,
    )
    if version == 1:
        if t.next_producer_id >= 0 or not bugs.on("B319"):
            message.previous_producer_id = t.previous_producer_id
        message.next_producer_id = t.next_producer_id
        message.client_transaction_version = t.client_version
    return prefixed(version, message, version)


def read_key(record: bytes) -> str | None:
    """The transactional id that a record is about."""
    return decode("TransactionLogKey", "data", 0, record[2:]).transactional_id if leading(record) == _KEY else None


def read_value(transactional_id: str, record: bytes) -> Transaction:
    message = decode("TransactionLogValue", "data", leading(record), record[2:])
    return Transaction(
        transactional_id,
        message.producer_id,
        message.transaction_timeout_ms,
        message.producer_epoch,
        previous_producer_id=message.previous_producer_id,
        next_producer_id=message.next_producer_id,
        state=_state(message.transaction_status),
        partitions=frozenset((t.topic, i) for t in message.transaction_partitions or () for i in t.partition_ids),
        started_ms=message.transaction_start_timestamp_ms + _EVER_MS * bugs.on("B313"),
        updated_ms=message.transaction_last_update_timestamp_ms,
        client_version=message.client_transaction_version,
    )


def _state(status: int) -> TransactionState:
    if status == TransactionState.COMPLETE_ABORT and bugs.on("T07"):
        return TransactionState.EMPTY
    return TransactionState(status)
