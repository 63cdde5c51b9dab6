"""register: the last value written, at first none.

write {value} -> {}
read {} -> {value}       None: none
cas {from, to} -> {ok}   becomes `to` if it is `from`; ok says whether it was
"""

from brokertrial.checkers.linearizability.search.question import Op, OperationFields

NAME = "register"

RegisterValue = tuple[int | None]


def start(init: OperationFields) -> RegisterValue:
    """No value, or init["value"]."""
    return (init.get("value"),)


def step(state: RegisterValue, op: Op) -> RegisterValue | None:
    """The value after the operation, in a tuple: None in it is no value."""
    match op.f:
        case "write":
            return (op.asked["value"],)
        case "read":
            return state if op.told is None or (op.told["value"],) == state else None
        case "cas":
            was = state == (op.asked["from"],)
            fits = op.told is None or op.told["ok"] == was
            return ((op.asked["to"],) if was else state) if fits else None
        case other:
            raise ValueError(f"the model register has no operation {other!r}.")
