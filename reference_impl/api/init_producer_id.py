"""InitProducerId 0-5: an id and an epoch for an idempotent or transactional producer.

Without transactional id: an id that nobody had before, epoch 0. With one: the same id as ever, its epoch raised, so
that earlier producers are fenced; an open transaction is aborted first and the caller told to retry (51). v3 carries
the id and epoch that a producer wants to go on from (KIP-360). Errors: 42 empty transactional id or only half of (id,
epoch), 50 timeout not in 1..transaction.max.timeout.ms, 51, 90 fenced (47 before v4).
Gaps: two-phase commit (v6).
"""

from __future__ import annotations

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles
from brokertrial.reference_impl.txn.pids import NoBlockYet
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response


@handles("InitProducerId", 0, 5)
def init_producer_id(request: Struct, context: Context) -> Struct:
    """Whatever is answered is durable; 14 while a broker that has just begun has no ids to give."""
    try:
        return _answered(request, context)
    except NoBlockYet:
        return _refused(errors.COORDINATOR_LOAD_IN_PROGRESS)


def _answered(request: Struct, context: Context) -> Struct:
    transactions = context.node.transactions
    half = (request.producer_id == -1) != (request.producer_epoch == -1)
    if half or request.transactional_id == "":
        return _refused(errors.INVALID_REQUEST)
    if request.transactional_id is None:
        if bugs.on("M11e"):
            return _refused(errors.COORDINATOR_LOAD_IN_PROGRESS)
        if len(context.node.live_brokers()) < len(context.node.known_brokers()) and bugs.on("K50"):
            return _refused(errors.REQUEST_TIMED_OUT)
        longest = context.node.config["transaction.max.timeout.ms"]
        if request.transaction_timeout_ms > longest and bugs.on("R12"):
            return _refused(errors.INVALID_TRANSACTION_TIMEOUT)
        return response("InitProducerId", producer_id=transactions.fresh_producer_id(), producer_epoch=0)
    expected = None if request.producer_id == -1 else (request.producer_id, request.producer_epoch)
    timeout_ms = request.transaction_timeout_ms
    if timeout_ms > context.node.config["transaction.max.timeout.ms"] and bugs.on("M40l"):
        timeout_ms = context.node.config["transaction.max.timeout.ms"]
    step = transactions.init_producer(request.transactional_id, timeout_ms, expected)
    if step.error == errors.PRODUCER_FENCED and context.version < 4:
        return _refused(errors.INVALID_PRODUCER_EPOCH)
    if step.error:
        return _refused(step.error)
    return response("InitProducerId", producer_id=step.transaction.producer_id, producer_epoch=step.transaction.epoch)


def _refused(error: int) -> Struct:
    return response("InitProducerId", error_code=error, producer_id=-1, producer_epoch=-1)
