"""AddPartitionsToTxn 0-5: takes partitions into a transaction, before the first record is written there.

v0-3 come from producers, one transaction each. v4-5 come from brokers: several transactions, each added or only
verified (KIP-890). One partition that does not exist (3) stops all of its request: the others are 55. Errors: 42
empty id, 49 another producer id, 90 another epoch (47 before v2), 51 the last transaction is still being ended, 120
verified and not part of it.
"""

from __future__ import annotations

from typing import Any

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles
from brokertrial.reference_impl.txn.state import TopicPartition
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response


@handles("AddPartitionsToTxn", 0, 5)
def add_partitions_to_txn(request: Struct, context: Context) -> Struct:
    """One code for each partition."""
    if context.version < 4:
        wanted = [(t.name, i) for t in request.v3_and_below_topics for i in t.partitions]
        codes = _codes(
            request.v3_and_below_transactional_id, request.v3_and_below_producer_id,
            request.v3_and_below_producer_epoch, wanted, context, verify_only=False,
        )  # fmt: skip
        return response("AddPartitionsToTxn", results_by_topic_v3_and_below=_by_topic(codes))
    results = []
    for each in request.transactions:
        wanted = [(t.name, i) for t in each.topics for i in t.partitions]
        codes = _codes(
            each.transactional_id, each.producer_id, each.producer_epoch, wanted, context, verify_only=each.verify_only
        )
        results.append({"transactional_id": each.transactional_id, "topic_results": _by_topic(codes)})
    return response("AddPartitionsToTxn", results_by_transaction=results)


def _codes(
    transactional_id: str, producer_id: int, epoch: int, wanted: list[TopicPartition], context: Context, *,
    verify_only: bool,
) -> dict[TopicPartition, int]:  # fmt: skip
    node = context.node
    missing = [p for p in wanted if not node.topics.has(*p)]
    if missing:
        if bugs.on("Q02"):
            there = [p for p in wanted if p not in missing]
            node.transactions.add_partitions(transactional_id, producer_id, epoch, there)
        codes = dict.fromkeys(wanted, errors.OPERATION_NOT_ATTEMPTED)
        return codes | dict.fromkeys(missing, errors.UNKNOWN_TOPIC_OR_PARTITION)
    if verify_only and not bugs.on("T11"):
        found: dict[TopicPartition, int] = node.transactions.verify(transactional_id, producer_id, epoch, wanted)
        return found
    code = node.transactions.add_partitions(transactional_id, producer_id, epoch, wanted)
    if code == errors.PRODUCER_FENCED and context.version < 2:
        code = errors.INVALID_PRODUCER_EPOCH
    return dict.fromkeys(wanted, code)


def _by_topic(codes: dict[TopicPartition, int]) -> list[dict[str, Any]]:
    topics: dict[str, list[dict[str, int]]] = {}
    for (topic, index), code in codes.items():
        topics.setdefault(topic, []).append({"partition_index": index, "partition_error_code": code})
    return [{"name": topic, "results_by_partition": lines} for topic, lines in topics.items()]
