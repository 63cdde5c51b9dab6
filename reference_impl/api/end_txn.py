"""EndTxn 0-5: commits or aborts; the answer comes once the decision is durable, the markers follow.

The same again is answered 0 (51 while the markers are on their way), the opposite 48, as is the end of a transaction
that never began.
Errors: 42 empty id, 49 another producer id, 90 another epoch (47 before v2).
v5 raises the producer's epoch with every transaction and tells it (transaction.version 2); see `txn/version2.py`.
"""

from __future__ import annotations

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles
from brokertrial.reference_impl.txn.version2 import next_incarnation
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response


@handles("EndTxn", 0, 5)
def end_txn(request: Struct, context: Context) -> Struct:
    """Point of no return."""
    step = context.node.transactions.end(
        request.transactional_id, request.producer_id, request.producer_epoch, request.committed,
        raise_epoch=context.version >= 5,
    )  # fmt: skip
    code = step.error
    if code == errors.PRODUCER_FENCED and context.version < 2 and not bugs.on("S08"):
        code = errors.INVALID_PRODUCER_EPOCH
    producer_id, epoch = next_incarnation(step.transaction) if not code else (-1, -1)
    return response("EndTxn", error_code=code, producer_id=producer_id, producer_epoch=epoch)
