"""group: the group coordinator of the classic protocol, for one group.

    join {member} -> {generation}              the generation that the member is in; it only grows
    sync {member, generation} -> {error}       asks for its share
    heartbeat {member, generation} -> {error}  also any commit that names its generation
    leave {member} -> {error}

error: "" is success, "generation" that another one is current, "member" that the group does not know it, "rebalance"
that the next one is being formed. A session may end at any time: the member is then unknown.
"""

from typing import NamedTuple

from brokertrial.checkers.linearizability.search.question import Op, OperationFields

NAME = "group"


class Group(NamedTuple):
    """The generation and who is in it."""

    generation: int
    members: frozenset[str]


def start(init: OperationFields) -> Group:
    """An empty group."""
    return Group(0, frozenset())


def step(state: Group, op: Op) -> Group | None:
    """The group after the operation."""
    told = op.told or {}
    member, error = str(op.asked["member"]), told.get("error", "")
    without = Group(state.generation, state.members - {member})
    match op.f:
        case "join":
            return _join(state, member, told.get("generation"))
        case _ if error == "member":
            return without
        case "leave":
            return without if not error and member in state.members else None
        case "sync" | "heartbeat":
            same = int(op.asked["generation"]) == state.generation
            if error == "generation":
                return None if same else state
            return state if same and member in state.members else None
        case other:
            raise ValueError(f"the model group has no operation {other!r}.")


def _join(state: Group, member: str, granted: int | None) -> Group | None:
    generation = state.generation + 1 if granted is None else granted
    if generation > state.generation:
        return Group(generation, frozenset({member}))
    return Group(generation, state.members | {member}) if generation == state.generation else None
