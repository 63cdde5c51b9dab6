"""key-value: a map of texts to texts, each at first empty. Keys are independent of each other.

get {key} -> {value}
put {key, value} -> {}
append {key, value} -> {}
"""

from brokertrial.checkers.linearizability.search.question import Op, OperationFields

NAME = "key-value"


def start(init: OperationFields) -> str:
    """The empty text."""
    return ""


def step(state: str, op: Op) -> str | None:
    """The text after the operation."""
    match op.f:
        case "get":
            return state if op.told is None or op.told["value"] == state else None
        case "put":
            return str(op.asked["value"])
        case "append":
            return state + str(op.asked["value"])
        case other:
            raise ValueError(f"the model key-value has no operation {other!r}.")


def part(op: Op) -> str:
    """Its key."""
    return str(op.asked["key"])
