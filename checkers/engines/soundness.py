"""Whether a history can be judged at all: what no recorder writes, and what every check takes for granted.

    op 7   t-0   call 30 ns   return 10 ns     -> it returned before it was called: no order follows from such clocks
    op 8   t-0   send; op 8   t-0   poll       -> one number for two calls: nobody can say which of them a row is about

Of such a history nothing is judged, and nothing passes, whatever the engine. One scan sums up blocks of 4,096 numbers
(`soundings` keeps those that are in doubt: of a sound history those with gaps, or with calls that went to several
partitions), a second one of those alone finds the few numbers (`echoes`) that are looked at one by one.
"""

from collections.abc import Callable, Mapping
from typing import Any

from brokertrial.checkers.relations.soundings import BITS

CLOCKS = """
    SELECT s.history, MIN(s.first_backward) AS op, SUM(s.backward) AS calls FROM history_flags s
    WHERE s.backward > 0 GROUP BY s.history
    """
NUMBERS = f"""
    SELECT x.history, MIN(x.op) AS op, COUNT(*) AS calls
    FROM (
        SELECT o.history, o.op, o.topic, o.partition
        FROM operations o JOIN repeated_values s ON s.history = o.history AND s.block = o.op >> {BITS}
        GROUP BY o.history, o.op, o.topic, o.partition HAVING COUNT(*) > 1
    ) x
    GROUP BY x.history
    """
REASONS = {
    CLOCKS: "operation {op} returned before it was called, as did {calls} in all: its clock went backwards, and no "
    "order follows from it",
    NUMBERS: "operation {op} is there twice for one partition, as are {calls} in all: nobody can say which is which",
}


def unsound(ask: Callable[[str], list[dict[str, Any]]]) -> Mapping[int, str]:
    """The histories that must not be judged, by their place in the list, each with the reason."""
    found: dict[int, str] = {}
    for query, reason in REASONS.items():
        for row in ask(query):
            found.setdefault(row["history"], reason.format(**row))
    return found
