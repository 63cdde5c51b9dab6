"""ownership: who owns a partition in a group. The epoch (a generation, say) only grows, and each has one owner.

    hold {member, epoch}   an answer that shows `member` as the owner in `epoch`
    give {member, epoch}   the owner let go, or its session ended
    refused {epoch}        a fencing answer: the epoch had gone beyond this one (not with leases)

With {"lease": True} a later epoch does not take the partition from another member: that one has to let go first.
"""

from typing import NamedTuple

from brokertrial.checkers.linearizability.search.question import Op, OperationFields

NAME = "ownership"


class Owner(NamedTuple):
    """The latest epoch known, and its owner; an empty name: the epoch is over, or its owner let go."""

    epoch: float
    member: str
    lease: bool


def start(init: OperationFields) -> Owner:
    """Nobody's, before every epoch."""
    return Owner(float("-inf"), "", bool(init.get("lease")))


def step(state: Owner, op: Op) -> Owner | None:
    """The owner after the operation."""
    epoch, member = int(op.asked["epoch"]), str(op.asked.get("member", ""))
    same = state.member == member and state.epoch == epoch
    match op.f:
        case "hold":
            taken = state.lease and state.member not in ("", member)
            if same:
                return state
            return Owner(epoch, member, state.lease) if state.epoch < epoch and not taken else None
        case "give":
            return Owner(epoch, "", state.lease) if same else None
        case "refused":
            if state.epoch > epoch:
                return state
            return None if state.lease else Owner(epoch, "", False)
        case other:
            raise ValueError(f"the model ownership has no operation {other!r}.")
