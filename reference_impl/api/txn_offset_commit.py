"""TxnOffsetCommit 0-6: stages offsets of a group in a transaction; its marker makes them visible or throws them away.

The transaction must hold the group's partition of the offsets topic (AddOffsetsToTxn): 48, or 120 from v4; v5 adds it
by itself. v6 names topics by id, and tells 69 of an absent group and 113 of a stale epoch (22 before). v3 names
member, generation and instance: 25, 22, 82. Other errors: 24 empty group id, 47 another epoch, 49 another producer id,
3 no such partition, 12 metadata too long. While a coordinator loads: 14, and 15 before v2.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles
from brokertrial.reference_impl.api.offset_commit import WantedOffset, screen, store
from brokertrial.reference_impl.group.commits import commit_refusal, refusal_to_producers
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response


@handles("TxnOffsetCommit", 0, 6)
def txn_offset_commit(request: Struct, context: Context) -> Struct | Awaitable[Struct]:
    """Checks partitions, then the transaction, then the group."""
    topics, wanted = screen(request, context, by_id=context.version >= 6)
    if not wanted:
        return response("TxnOffsetCommit", topics=topics)
    if not request.group_id:
        return _stored(request, topics, wanted, errors.INVALID_GROUP_ID, context)
    transactions, where = context.node.transactions, context.node.groups.partition_of(request.group_id)
    ids = (request.transactional_id, request.producer_id, request.producer_epoch, where)
    if context.version < 5 and bugs.on("K18"):
        return _stored(request, topics, wanted, errors.NONE, context)
    if context.node.in_cluster:
        asked = transactions.ask_for_offsets(*ids, version=context.version)
        return _stored_later(request, topics, wanted, asked, context)
    return _stored(request, topics, wanted, transactions.admit_offsets(*ids, version=context.version), context)


async def _stored_later(
    request: Struct, topics: list[dict[str, Any]], wanted: list[WantedOffset], asked: Awaitable[int], context: Context
) -> Struct:
    refusal = await asked
    if not refusal and not context.node.coordinates_group(request.group_id):
        refusal = errors.NOT_COORDINATOR
    groups = context.node.groups
    refusal = refusal or groups.loads.refusal(groups.partition_of(request.group_id))
    return _stored(request, topics, wanted, refusal, context)


def _stored(
    request: Struct, topics: list[dict[str, Any]], wanted: list[WantedOffset], refusal: int, context: Context
) -> Struct:
    refusal = refusal_to_producers(refusal, context.version) or _refusal(request, context, wanted)
    if not refusal and bugs.on("D03"):
        context.node.groups.keep_alive(request.group_id, request.member_id)
    store(request.group_id, wanted, refusal, context, (request.producer_id, request.producer_epoch))
    return response("TxnOffsetCommit", topics=topics)


def _refusal(request: Struct, context: Context, wanted: list[WantedOffset]) -> int:
    groups = context.node.groups
    return commit_refusal(
        groups.find(request.group_id), request.member_id, request.group_instance_id,
        request.generation_id_or_member_epoch, transactional=True, version=context.version,
        parts=[(each.topic_id, each.partition) for each in wanted],
    )  # fmt: skip
