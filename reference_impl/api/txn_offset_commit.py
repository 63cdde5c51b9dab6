"""TxnOffsetCommit 0-6: stages offsets of a group in a transaction; its marker makes them visible or throws them away.

The transaction must hold the group's partition of the offsets topic (AddOffsetsToTxn): 48, or 120 from v4; v5 adds it
by itself. v6 names topics by id. v3 names member, generation and instance: 25, 22, 82. Other errors: 24 empty group
id, 47 another epoch, 49 another producer id, 3 no such partition, 12 metadata too long.
"""

from __future__ import annotations

from reference_impl.api import Context, handles
from reference_impl.api.offset_commit import Wanted, screen, store
from reference_impl.group.commits import commit_refusal
from wire import errors
from wire.messages import Struct, response


@handles("TxnOffsetCommit", 0, 6)
def txn_offset_commit(request: Struct, context: Context) -> Struct:
    """Checks partitions, then the transaction, then the group."""
    topics, wanted = screen(request, context, by_id=context.version >= 6)
    if wanted:
        refusal = _refusal(request, context, wanted)
        store(request.group_id, wanted, refusal, context, (request.producer_id, request.producer_epoch))
    return response("TxnOffsetCommit", topics=topics)


def _refusal(request: Struct, context: Context, wanted: list[Wanted]) -> int:
    groups = context.node.groups
    if not request.group_id:
        return errors.INVALID_GROUP_ID
    refusal: int = context.node.transactions.admit_offsets(
        request.transactional_id, request.producer_id, request.producer_epoch,
        groups.partition_of(request.group_id), version=context.version,
    )  # fmt: skip
    if refusal:
        return refusal
    return commit_refusal(
        groups.find(request.group_id), request.member_id, request.group_instance_id,
        request.generation_id_or_member_epoch, transactional=True, version=context.version,
        parts=[(each.topic_id, each.partition) for each in wanted],
    )  # fmt: skip
