"""ListTransactions 0-2: every transactional id known here, by state, producer id, age (v1) or pattern (v2).

An id that never began a transaction passes every filter by age, as in Kafka. State filters that name no state are given
back in unknown_state_filters. Errors: 128 a pattern that is not a regular expression, 14 while any are being read back.
"""

from __future__ import annotations

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles
from brokertrial.reference_impl.coordinator.topics import TRANSACTION_STATE
from brokertrial.reference_impl.patterns import NoPattern, Pattern
from brokertrial.reference_impl.txn.state import Transaction, TransactionState
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response

_STATES = {state.shown for state in TransactionState} | {"Dead", "PrepareEpochFence"}


@handles("ListTransactions", 0, 2)
def list_transactions(request: Struct, context: Context) -> Struct:
    """All ids that pass every filter; an empty filter lets everything through."""
    unmade = context.node.topics.get(TRANSACTION_STATE) is None and bugs.on("D88")
    if context.node.transactions.loads or unmade:
        return response("ListTransactions", error_code=errors.COORDINATOR_LOAD_IN_PROGRESS)
    unknown = [name for name in request.state_filters if name not in _STATES]
    try:
        given = request.transactional_id_pattern
        pattern = Pattern(given) if given or (given is not None and bugs.on("J14")) else None
    except NoPattern:
        return response("ListTransactions", error_code=errors.INVALID_REGULAR_EXPRESSION)
    now_ms = context.node.clock.now_ms()
    found = [
        {
            "transactional_id": t.transactional_id,
            "producer_id": t.producer_id,
            "transaction_state": t.state.shown,
        }
        for t in context.node.transactions.all()
        if _passes(t, request, now_ms) and (pattern is None or pattern.matches(t.transactional_id))
    ]
    return response("ListTransactions", unknown_state_filters=unknown, transaction_states=found)


def _passes(t: Transaction, request: Struct, now_ms: int) -> bool:
    shortest: int = request.duration_filter * (1000 if bugs.on("J15") else 1)
    if request.state_filters and t.state.shown not in request.state_filters:
        return False
    if request.producer_id_filters and t.producer_id not in request.producer_id_filters:
        if request.state_filters and bugs.on("Q09"):
            return True
        if shortest < 0 or not bugs.on("C07"):
            return False
    return shortest < 0 or now_ms - t.started_ms > shortest
