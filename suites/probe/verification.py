"""What a partition's leader asks of the coordinator before it takes a transactional batch (KIP-890)."""

from __future__ import annotations

from collections.abc import Callable

from brokertrial.suites.probe.answer import Response
from brokertrial.wire import errors

NOT_ADDED = (errors.INVALID_TXN_STATE, errors.TRANSACTION_ABORTABLE)
"""One refusal: the first where the client's version does not know the second."""
TIMES = 5


def code_of_its_own(ask: Callable[[], tuple[Response, int]], code: int) -> tuple[Response, int]:
    """The answer with the code of its own version, asked up to five times, or the last one with another.

    Apache Kafka keeps one version for all requests that wait to be verified by one coordinator: the first one's
    (`AddPartitionsToTxnManager`, `TransactionDataAndCallbacks`). So another client's request, under way in the same
    moment, may lend its code to this one; a broker that does not know the version does so each time.
    """
    answer, found = ask()
    for _ in range(TIMES - 1):
        if {found, code} != set(NOT_ADDED):
            break
        answer, found = ask()
    return answer, found
