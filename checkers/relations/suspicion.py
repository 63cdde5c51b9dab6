"""Keeps the search in logs small: SQL finds the operations that some other contradicts, memory holds those alone.

checkers/linearizability/log.py sorts a partition by time in memory. Here each partition is cut into blocks of offsets,
so that one giant partition is many small tasks. Every operation gets a place in the log: an append its base, what saw
the log reach N, or was told that it ends there, N - 1. Whatever lies above p and returned before p was called
contradicts p. For each block the earliest return above it is one number. A block of which the last call came before
that, and before the first return in it, is above suspicion, and need not be sorted; in any other a running minimum from
the top decides.

    place       12      11      10      9
    called      40      31      20      10
    returned    44      35      29      15        -> nothing above 10 returned before 20: not suspicious

Appends that overlap, and ends inside an append, are suspicious too. What is searched, of a log with a suspicious
operation, is everything that can have to do with it: all above the lowest one (less the longest append of the log, for
the one that it lies in) that began before the last of them was called. The same rows come of it; of a log without one,
nothing.
"""

from brokertrial.checkers.relations.relation import Relation

SHIFT = 5
"""Places of a block, as a power of two: a bit each, in a number that has a sign."""
STRETCH = 9
"""Blocks of a stretch, as a power of two."""

_LOGGED = "JOIN logs k ON k.history = o.history AND k.topic = o.topic AND k.partition = o.partition"
_ABOVE = "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"


def relations(shift: int = SHIFT, stretch: int = STRETCH) -> dict[str, Relation]:
    """`log_suspects`: for each log with a suspicious operation, what lies around it. Tests take smaller blocks."""
    # turn: at one place, what was seen comes before the append there, and that before an end that was asked for there.
    # start: where something begins that no append may reach across.
    placed = f"""
        SELECT a.log, a.low AS place, 1 AS turn, a.call_ns, a.return_ns, a.low AS start, a.low + a.records AS high
        FROM appends_by_log a
        UNION ALL SELECT k.log, o.low - 1, 0, NULL, o.return_ns, NULL, NULL FROM ends o {_LOGGED}
        UNION ALL SELECT k.log, o.low, 2, o.call_ns, NULL, o.low, NULL FROM ends o {_LOGGED}
        UNION ALL SELECT k.log, o.low - 1, 0, NULL, o.return_ns, NULL, NULL FROM end_observations o {_LOGGED}
        """
    return {
        "log_blocks": Relation(_blocks(placed, shift), kept=True),
        "log_doubts": Relation(_doubts(stretch), kept=True),
        "log_suspects": Relation(_suspects(placed, shift), kept=True),
    }


def _blocks(placed: str, shift: int) -> str:
    """For each block the first return, the last call, the lowest start and the highest end.

    masks, covered: the offsets of its appends as bits, added up and put together; they differ where appends overlap.
    """
    inside = (1 << shift) - 1
    bits = f"CAST(LEAST(x.high - x.start, {inside + 1} - (x.start & {inside})) AS INT)"
    mask = f"(((CAST(1 AS BIGINT) << {bits}) - 1) << CAST(x.start & {inside} AS INT))"
    return f"""
        SELECT x.log, x.place >> {shift} AS block, MIN(x.return_ns) AS returned, MAX(x.call_ns) AS called,
            MIN(x.start) AS start, MAX(x.high) AS high, MAX(x.high - x.start) AS longest,
            MAX(CASE WHEN x.turn = 2 THEN 1 ELSE 0 END) AS has_end,
            SUM(CASE WHEN x.high > x.start THEN {mask} END) AS masks,
            BIT_OR(CASE WHEN x.high > x.start THEN {mask} END) AS covered
        FROM ({placed}) x GROUP BY x.log, x.place >> {shift}
        """


def _doubts(stretch: int) -> str:
    """Blocks that are not above suspicion in whatever order their operations lie, and what is above each of them."""
    near = f"PARTITION BY b.log, b.block >> {stretch} ORDER BY b.block DESC NULLS LAST {_ABOVE}"
    far = f"PARTITION BY c.log ORDER BY c.stretch DESC NULLS LAST {_ABOVE}"
    return f"""
        SELECT b.log, b.block, b.returned_above, b.start_above
        FROM (
            SELECT w.*, LEAST(w.returned_near, s.returned) AS returned_above,
                LEAST(w.start_near, s.start) AS start_above
            FROM (
                SELECT b.*, MIN(b.returned) OVER ({near}) AS returned_near, MIN(b.start) OVER ({near}) AS start_near
                FROM log_blocks b
            ) w
            JOIN (
                SELECT c.log, c.stretch, MIN(c.returned) OVER ({far}) AS returned, MIN(c.start) OVER ({far}) AS start
                FROM (
                    SELECT b.log, b.block >> {stretch} AS stretch, MIN(b.returned) AS returned, MIN(b.start) AS start
                    FROM log_blocks b GROUP BY b.log, b.block >> {stretch}
                ) c
            ) s ON s.log = w.log AND s.stretch = w.block >> {stretch}
        ) b
        WHERE b.called > b.returned OR b.called > b.returned_above
            OR b.masks <> b.covered OR b.high > b.start_above OR (b.has_end = 1 AND b.longest > 1)
        """


def _suspects(placed: str, shift: int) -> str:
    downward = (
        f"PARTITION BY x.log, x.place >> {shift} ORDER BY x.place DESC NULLS LAST, x.turn ASC NULLS FIRST {_ABOVE}"
    )
    return f"""
        SELECT s.log, MIN(s.place) - COALESCE(MAX(m.longest), 0) AS lowest,
            MAX(CASE WHEN s.torn THEN s.high + m.longest ELSE -1 END) AS highest,
            MAX(CASE WHEN s.early THEN s.call_ns ELSE -1 END) AS last_call
        FROM (
            SELECT w.log, w.place, w.call_ns, w.high,
                COALESCE(w.call_ns > w.returned OR w.call_ns > w.returned_above, w.call_ns > w.returned_above,
                    w.call_ns > w.returned, FALSE) AS early,
                COALESCE(w.high > w.start_next OR w.high > w.start_above, w.high > w.start_above,
                    w.high > w.start_next, FALSE) AS torn
            FROM (
                SELECT x.log, x.place, x.call_ns, x.high, d.returned_above, d.start_above,
                    MIN(x.return_ns) OVER ({downward}) AS returned, MIN(x.start) OVER ({downward}) AS start_next
                FROM ({placed}) x JOIN log_doubts d ON d.log = x.log AND d.block = x.place >> {shift}
            ) w
        ) s
        JOIN (SELECT b.log, MAX(b.longest) AS longest FROM log_blocks b GROUP BY b.log) m ON m.log = s.log
        WHERE s.early OR s.torn
        GROUP BY s.log
        """


RELATIONS = relations()
