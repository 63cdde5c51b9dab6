"""longest-gap: how long nothing was acknowledged although something was asked for. Measured, never a failure.

    sends acknowledged at    1 s   1.1 s   4.6 s   4.7 s        -> 3.5 s, from 1.1 s to 4.6 s

One row a history: the longest time between two acknowledgements of the same kind (sends, commits, questions about
commits), over all clients and partitions, and the fault that had begun last before it ended. Kafka promises no bound;
the report puts the number beside its fault.
Source: Kafka documentation, "Availability and Durability Guarantees"; catalogue repl-015.
"""

NAME = "longest-gap"
GUARANTEE = "repl-015"
STRENGTH = "recency"
MEASURED = True
NEEDS = ("operations.call_ns", "operations.return_ns", "operations.outcome")
SUBJECT = "SELECT DISTINCT a.history FROM asking a WHERE a.outcome = 'ok' AND a.return_ns IS NOT NULL"
OTHERWISE = "nothing was acknowledged"
QUERY = """
    SELECT w.history, w.what, MIN(w.before_op) AS op_a, MIN(w.op) AS op_b, w.gap_ns / 1000000.0 AS ms_gap, 0 AS judged,
        COALESCE(MAX(e.window_id), 'none') AS fault
    FROM (
        SELECT x.history, x.what, x.op, x.before_op, x.at_ns, x.at_ns - x.before_ns AS gap_ns,
            ROW_NUMBER() OVER (PARTITION BY x.history
                ORDER BY x.at_ns - x.before_ns DESC NULLS LAST, x.op NULLS LAST) AS number
        FROM (
            SELECT a.history, a.what, a.op, a.at_ns,
                LAG(a.at_ns) OVER (PARTITION BY a.history, a.what ORDER BY a.at_ns NULLS LAST, a.op NULLS LAST)
                    AS before_ns,
                LAG(a.op) OVER (PARTITION BY a.history, a.what ORDER BY a.at_ns NULLS LAST, a.op NULLS LAST)
                    AS before_op
            FROM (
                SELECT k.history, k.what, k.op, MAX(k.return_ns) AS at_ns FROM asking k
                WHERE k.outcome = 'ok' AND k.return_ns IS NOT NULL
                GROUP BY k.history, k.what, k.op
            ) a
        ) x
        WHERE x.before_ns IS NOT NULL
    ) w
    LEFT JOIN (SELECT b.history, b.window_id, MIN(b.at_ns) AS at_ns FROM events b WHERE b.kind = 'window-begin'
        GROUP BY b.history, b.window_id) e ON e.history = w.history AND e.at_ns <= w.at_ns
    WHERE w.number = 1
    GROUP BY w.history, w.what, w.gap_ns
    """
SENTENCE = "For {ms_gap:.0f} ms no {what} was acknowledged (the fault before: {fault})."
