"""Keeps the search in logs small: Spark finds the operations that some other contradicts, the driver judges them.

checkers/log.py sorts a partition by time in memory. Here each partition is cut into blocks of offsets, so that one
giant partition is many small tasks. Every operation gets a place in the log: an append its base, what saw the log reach
N, or was told that it ends there, N - 1. Whatever lies above p and returned before p was called contradicts p. For each
block the earliest return above it is one number; within a block a running minimum from the top decides.

    place       12      11      10      9
    called      40      31      20      10
    returned    44      35      29      15        -> nothing above 10 returned before 20: not suspicious

Appends that overlap, and ends inside an append, are suspicious too. What the driver gets, of a log with a suspicious
operation, is everything that can have to do with it: all above the lowest one (less a margin for the batch that it lies
in) that began before the last of them was called. The same rows come of it; of a log without one, nothing.
"""

from __future__ import annotations

from dataclasses import replace

from checkers.check import Check
from checkers.relations.relation import Relation

SHIFT = 14
MARGIN = 1 << SHIFT
NARROWED = {"appends", "ends", "sights"}

_LOGGED = "JOIN logs k ON k.history = o.history AND k.topic = o.topic AND k.partition = o.partition"
_ABOVE = "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"


def relations(shift: int = SHIFT, margin: int = MARGIN) -> dict[str, Relation]:
    """`log_suspects`: for each log with a suspicious operation, what lies around it. Tests take smaller blocks."""
    # turn: at one place, what was seen comes before the append there, and that before an end that was asked for there.
    # start: where something begins that no append may reach across.
    placed = f"""
        SELECT a.log, a.low AS place, 1 AS turn, a.call_ns, a.return_ns, a.low AS start, a.low + a.records AS high
        FROM appends_by_log a
        UNION ALL SELECT k.log, o.low - 1, 0, NULL, o.return_ns, NULL, NULL FROM ends o {_LOGGED}
        UNION ALL SELECT k.log, o.low, 2, o.call_ns, NULL, o.low, NULL FROM ends o {_LOGGED}
        UNION ALL SELECT k.log, o.low - 1, 0, NULL, o.return_ns, NULL, NULL FROM sights o {_LOGGED}
        """
    order = "ORDER BY x.place DESC NULLS LAST, x.turn ASC NULLS FIRST"
    downward = f"PARTITION BY x.log, x.place >> {shift} {order} {_ABOVE}"
    blocks = f"""
        SELECT b.log, b.block,
            MIN(b.returned) OVER (PARTITION BY b.log ORDER BY b.block DESC NULLS LAST {_ABOVE}) AS returned,
            MIN(b.start) OVER (PARTITION BY b.log ORDER BY b.block DESC NULLS LAST {_ABOVE}) AS start
        FROM (
            SELECT x.log, x.place >> {shift} AS block, MIN(x.return_ns) AS returned, MIN(x.start) AS start
            FROM ({placed}) x GROUP BY x.log, x.place >> {shift}
        ) b
        """
    suspicious = f"""
        SELECT s.log, MIN(s.place) - {margin} AS lowest,
            MAX(CASE WHEN s.torn THEN s.high + {margin} ELSE -1 END) AS highest,
            MAX(CASE WHEN s.early THEN s.call_ns ELSE -1 END) AS last_call
        FROM (
            SELECT w.log, w.place, w.call_ns, w.high,
                COALESCE(w.call_ns > w.returned OR w.call_ns > w.returned_above, w.call_ns > w.returned_above,
                    w.call_ns > w.returned, FALSE) AS early,
                COALESCE(w.high > w.start_next OR w.high > w.start_above, w.high > w.start_above,
                    w.high > w.start_next, FALSE) AS torn
            FROM (
                SELECT x.log, x.place, x.call_ns, x.high, b.returned AS returned_above, b.start AS start_above,
                    MIN(x.return_ns) OVER ({downward}) AS returned, MIN(x.start) OVER ({downward}) AS start_next
                FROM ({placed}) x JOIN ({blocks}) b ON b.log = x.log AND b.block = x.place >> {shift}
            ) w
        ) s
        WHERE s.early OR s.torn
        GROUP BY s.log
        """
    return {"log_suspects": Relation(suspicious, kept=True)}


RELATIONS = relations()


def narrowed(check: Check) -> Check:
    """The check, with the projections of a search in logs cut down to what can matter."""
    if not check.projections.keys() >= NARROWED:
        return check
    queries = {name: _near(query) if name in NARROWED else query for name, query in check.projections.items()}
    return replace(check, projections=queries)


def _near(query: str) -> str:
    return f"""
        SELECT q.* FROM ({query}) q JOIN log_suspects s ON s.log = q.log
        WHERE q.low >= s.lowest AND (q.low <= s.highest OR q.call_ns <= s.last_call)
        """
