"""AddOffsetsToTxn 0-4: takes a group's partition of the offsets topic into a transaction.

Errors: 42 empty id, 49 another producer id, 90 another epoch (47 before v2), 51 the last transaction is still being
ended.
"""

from __future__ import annotations

from brokertrial.reference_impl.api import Context, handles
from brokertrial.reference_impl.coordinator.topics import CONSUMER_OFFSETS
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response


@handles("AddOffsetsToTxn", 0, 4)
def add_offsets_to_txn(request: Struct, context: Context) -> Struct:
    """The same as AddPartitionsToTxn for the one partition that holds the group."""
    where = (CONSUMER_OFFSETS, context.node.groups.partition_of(request.group_id))
    code = context.node.transactions.add_partitions(
        request.transactional_id, request.producer_id, request.producer_epoch, [where]
    )
    if code == errors.PRODUCER_FENCED and context.version < 2:
        code = errors.INVALID_PRODUCER_EPOCH
    return response("AddOffsetsToTxn", error_code=code)
