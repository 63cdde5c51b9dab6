"""Whether one order of a coordinator's answers explains them all: asked of every group and transactional id of a case.

The statements of a case are about single answers. That each answer fits all others, beside each other as well, is
decided here: a search for an order of the requests that respects real time and the rules of the object
(docs/linearizability.md). Where it comes to no end within its limit, nothing is decided: the case is inconclusive.
"""

from __future__ import annotations

from brokertrial.checkers.linearizability.search.engine import STATES, search
from brokertrial.checkers.linearizability.search.question import SearchResult
from brokertrial.suites.closing_look.coordinator_history import CoordinatorHistory
from brokertrial.suites.probe.failures import StatementFalse, Unclear
from brokertrial.suites.result import Evidence

SHOWN = 8
"""Exchanges that are shown: those that fit, up to the first that does not."""
UNDECIDED = "search-limit"
BROKEN = {
    "JoinGroup": "grp-006",
    **dict.fromkeys(("SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit"), "grp-009"),
    "InitProducerId": "txn-007",
    **dict.fromkeys(("AddPartitionsToTxn", "AddOffsetsToTxn", "Produce"), "txn-029"),
    "TxnOffsetCommit": "txn-015",
    "EndTxn": "txn-010",
}
"""The guarantee that an answer breaks which fits no longer."""


def order_of_answers(history: CoordinatorHistory, states: int = STATES) -> None:
    """Raises StatementFalse when no order explains the answers, Unclear when the search gave up."""
    found = search(history.question, states=states)
    if found.ruling == "unknown":
        count = len(history.question.ops)
        raise Unclear(UNDECIDED, f"{history.what}: no order of its {count} answers was found within {states} states")
    if found.ruling == "illegal":
        raise _contradiction(history, found)


def _contradiction(history: CoordinatorHistory, found: SearchResult) -> StatementFalse:
    """The longest order that fits, and what comes after it and does not."""
    fits = [history.exchanges[op] for op in found.prefix]
    blocked = [history.exchanges[op] for op in found.blocked]
    names = " or ".join(dict.fromkeys(asked.request._api for asked in blocked))
    count = len(history.question.ops)
    sentence = (
        f"no order of the coordinator's {count} answers about it explains them all: after {len(fits)} that do, the "
        f"answer to {names} fits no longer"
    )
    shown = list(dict.fromkeys([*fits[-SHOWN:], *blocked]))
    evidence: tuple[Evidence, ...] = tuple(line for asked in shown for line in asked.evidence())
    api = blocked[0].request._api
    error = StatementFalse(sentence, evidence, tuple(asked.number for asked in shown), about=api)
    error.guarantees = (BROKEN[api],)
    return error
