"""log: the log of one partition. Its state is its end, the offset that the next record gets.

append {count} -> {base}    the end goes from base to base+count (base None: not told)
end {} -> {end}             the end is exactly this
saw {} -> {end}             the end is at least this
between {} -> {low, high}   the end lies in [low, high]
"""

from brokertrial.checkers.linearizability.search.question import Op, OperationFields

NAME = "log"


def start(init: OperationFields) -> int:
    """An empty log, or one that ends at init["end"]."""
    return int(init.get("end", 0))


def step(state: int, op: Op) -> int | None:
    """The end after the operation."""
    told = op.told or {}
    match op.f:
        case "append":
            base = told.get("base")
            fits = base is None or base == state
            state_after = state + int(op.asked.get("count", 1))
            return state_after if fits else None
        case "end":
            fits = told["end"] == state
        case "saw":
            fits = told["end"] <= state
        case "between":
            fits = told["low"] <= state <= told["high"]
        case other:
            raise ValueError(f"the model log has no operation {other!r}.")
    return state if fits else None
