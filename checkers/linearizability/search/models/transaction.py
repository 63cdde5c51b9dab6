"""transaction: the transaction coordinator, for one transactional id (KIP-98, KIP-360, KIP-890).

    init {} -> {epoch}                    a greater epoch than any before; what was open is aborted
    add {epoch} -> {error}                partitions or offsets are added: the transaction is open
    end {epoch, commit} -> {error, next}  it is committed or aborted; next: the epoch that follows, if told (KIP-890)
    state {} -> {state}                   empty, ongoing, committed or aborted

error: "" is success, "fenced" a newer epoch (or the coordinator gave an open transaction up), "state" nothing to end.
An end may be repeated, by the epoch that ended it. A coordinator may end an open transaction at any time: that fences,
or leaves nothing to end.
"""

from typing import NamedTuple

from brokertrial.checkers.linearizability.search.question import Op, OperationFields

NAME = "transaction"


class TransactionModelState(NamedTuple):
    """`ended`: the epoch that ended the last one. `fenced`: somebody not told of in the history has a newer one."""

    epoch: int
    ended: int
    state: str
    fenced: bool


def start(init: OperationFields) -> TransactionModelState:
    """No epoch yet."""
    return TransactionModelState(-1, -1, "empty", False)


def step(state: TransactionModelState, op: Op) -> TransactionModelState | None:
    """The coordinator's state after the operation."""
    told = op.told or {}
    match op.f:
        case "init":
            if op.told is None:
                return TransactionModelState(state.epoch, -1, "empty", True)
            granted = int(told["epoch"])
            return TransactionModelState(granted, -1, "empty", False) if granted > state.epoch else None
        case "state":
            return state if op.told is None or told["state"] == state.state else None
        case "add" | "end":
            epoch, error = int(op.asked["epoch"]), told.get("error", "")
            if error == "fenced":
                return _fenced(state, epoch)
            if op.f == "end":
                return _end(state, epoch, "committed" if op.asked.get("commit") else "aborted", error, told.get("next"))
            current = epoch == state.epoch and not state.fenced
            return TransactionModelState(state.epoch, -1, "ongoing", False) if current and not error else None
        case other:
            raise ValueError(f"the model transaction has no operation {other!r}.")


def _fenced(state: TransactionModelState, epoch: int) -> TransactionModelState | None:
    if epoch < state.epoch or state.fenced:
        return state
    given_up = epoch == state.epoch and state.state == "ongoing"
    return TransactionModelState(state.epoch, -1, "aborted", True) if given_up else None


def _end(
    state: TransactionModelState, epoch: int, result: str, error: str, following: int | None
) -> TransactionModelState | None:
    again = state.ended == epoch and state.state == result
    if error:
        return _nothing_to_end(state, epoch, again) if error == "state" else None
    if again and (not state.fenced or following is None):
        return state if following in (None, state.epoch) else None
    after = state.epoch if following is None else following
    current = epoch == state.epoch and not state.fenced
    if not again and (not current or state.state != "ongoing"):
        return None
    return TransactionModelState(after, epoch, result, False) if after >= state.epoch else None


def _nothing_to_end(state: TransactionModelState, epoch: int, again: bool) -> TransactionModelState | None:
    """An end was refused for the state of the transaction: never the same end again, always the other one."""
    if epoch == state.ended:
        return None if again and not state.fenced else state
    if epoch != state.epoch or state.fenced:
        return None
    given_up = TransactionModelState(epoch, epoch, "aborted", True)
    return given_up if state.state == "ongoing" else state
