"""A transactional id: its description and the lists that it must stand in, whole and filtered (KIP-664)."""

from __future__ import annotations

from typing import Any

from brokertrial.suites.closing_look.partition import VIA
from brokertrial.suites.probe.coordinated import TRANSACTION
from brokertrial.suites.probe.failures import breaks
from brokertrial.suites.probe.wire import Wire
from brokertrial.wire import errors
from brokertrial.wire.messages import request

OPEN, ENDING = ("Ongoing",), ("PrepareCommit", "PrepareAbort", "PrepareEpochFence")


class TransactionLook:
    """One transactional id, once. Raises what is false."""

    def __init__(self, wire: Wire, transactional_id: str) -> None:
        self._wire = wire
        self._id = transactional_id

    @breaks("txn-026")
    def judge(self) -> None:
        """All questions; the first answer that does not fit is raised."""
        wire = self._wire
        described = wire.describe_transaction(self._id, via=VIA)
        if described.error == errors.TRANSACTIONAL_ID_NOT_FOUND:
            return
        row = described.must_succeed().struct.transaction_states[0]
        described.must(
            row.transaction_state not in ENDING,
            f"the transaction is still {row.transaction_state}",
            "transaction_states[0].transaction_state",
        )
        described.must(
            bool(row.topics) <= (row.transaction_state in OPEN),
            f"the transaction is {row.transaction_state} and holds {len(row.topics)} topics",
            "transaction_states[0].topics",
        )
        filters: tuple[dict[str, list[Any]], ...] = (
            {},
            {"state_filters": [row.transaction_state]},
            {"producer_id_filters": [row.producer_id]},
        )
        coordinator = wire.coordinator(self._id, TRANSACTION)
        for chosen in filters:
            listed = wire.ask(request("ListTransactions", **chosen), to=coordinator, via=VIA).must_succeed()
            found = [one for one in listed.struct.transaction_states if one.transactional_id == self._id]
            shown = [(one.producer_id, one.transaction_state) for one in found]
            wire.must(
                shown == [(row.producer_id, row.transaction_state)],
                f"the transaction is described as {(row.producer_id, row.transaction_state)} and listed as {shown}",
                described,
                listed,
            )
