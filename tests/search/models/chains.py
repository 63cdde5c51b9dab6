"""chains: a log with two ends that only grow, its start S and its end N.

append {count} -> {base}    N goes from base to base+count (base None: not told)
delete {to} -> {}           S becomes at least `to`, which N has reached
end {} -> {end}             N is exactly this
start {} -> {start}         S is exactly this
bounds {} -> {start, end}   both at one moment
read {} -> {offset}         S <= offset < N
"""

from brokertrial.checkers.linearizability.search.question import Op, OperationFields

NAME = "chains"

LogEnds = tuple[int, int]


def start(init: OperationFields) -> LogEnds:
    """An empty log, or one from init["start"] to init["end"]."""
    return int(init.get("start", 0)), int(init.get("end", 0))


def step(state: LogEnds, op: Op) -> LogEnds | None:
    """Both ends after the operation."""
    low, high = state
    told = op.told or {}
    match op.f:
        case "append":
            base = told.get("base")
            return (low, high + int(op.asked.get("count", 1))) if base is None or base == high else None
        case "delete":
            to = int(op.asked["to"])
            if to <= low:
                return state
            return (to, high) if to <= high else None
        case "end":
            fits = told["end"] == high
        case "start":
            fits = told["start"] == low
        case "bounds":
            fits = (told["start"], told["end"]) == state
        case "read":
            fits = low <= told["offset"] < high
        case other:
            raise ValueError(f"the model chains has no operation {other!r}.")
    return state if fits else None
