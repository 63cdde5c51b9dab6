"""DescribeTransactions 0: state, producer, start and partitions of transactional ids.

Errors: 42 empty id, 105 unknown id.
"""

from __future__ import annotations

from brokertrial.reference_impl.api import Context, handles
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response


@handles("DescribeTransactions", 0, 0)
def describe_transactions(request: Struct, context: Context) -> Struct:
    """One description for each id asked for, in order."""
    return response(
        "DescribeTransactions", transaction_states=[_describe(name, context) for name in request.transactional_ids]
    )


def _describe(transactional_id: str, context: Context) -> dict[str, object]:
    if not transactional_id:
        return {"transactional_id": transactional_id, "error_code": errors.INVALID_REQUEST}
    t = context.node.transactions.find(transactional_id)
    if t is None:
        return {"transactional_id": transactional_id, "error_code": errors.TRANSACTIONAL_ID_NOT_FOUND}
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(t.partitions):
        topics.setdefault(topic, []).append(index)
    return {
        "transactional_id": transactional_id,
        "transaction_state": t.state.shown,
        "transaction_timeout_ms": t.timeout_ms,
        "transaction_start_time_ms": t.started_ms,
        "producer_id": t.producer_id,
        "producer_epoch": t.epoch,
        "topics": [{"topic": topic, "partitions": indexes} for topic, indexes in topics.items()],
    }
