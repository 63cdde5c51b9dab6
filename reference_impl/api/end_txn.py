"""EndTxn 0-4: commits or aborts; the answer comes once the decision is durable, the markers follow.

The same again is answered 0 (51 while the markers are on their way), the opposite 48, as is the end of a transaction
that never began.
Errors: 42 empty id, 49 another producer id, 90 another epoch (47 before v2).
Gaps: v5 (transaction.version 2).
"""

from __future__ import annotations

from reference_impl.api import Context, handles
from wire import errors
from wire.messages import Struct, response


@handles("EndTxn", 0, 4)
def end_txn(request: Struct, context: Context) -> Struct:
    """Point of no return."""
    step = context.node.transactions.end(
        request.transactional_id, request.producer_id, request.producer_epoch, request.committed
    )
    code = step.error
    if code == errors.PRODUCER_FENCED and context.version < 2:
        code = errors.INVALID_PRODUCER_EPOCH
    return response("EndTxn", error_code=code)
