"""longest-gap: the longest time without an acknowledgement while calls were open. Measured, never a failure.

    sends acknowledged at    1 s   1.1 s   4.6 s   4.7 s        -> 3.5 s, from 1.1 s to 4.6 s

One row a history: the longest time between two acknowledgements of the same kind (sends, commits, questions about
commits), over all clients and partitions, and the fault that had begun last before it ended. Acknowledgements of one
moment are none apart. Kafka promises no bound; the report puts the number beside its fault.
Source: Kafka documentation, "Availability and Durability Guarantees"; catalogue repl-015.
"""

NAME = "longest-gap"
GUARANTEE = "repl-015"
STRENGTH = "recency"
DECIDES = ()  # a figure
OBSERVES = ("send",)
MEASURED = True
NEEDS = ("operations.call_ns", "operations.return_ns", "operations.outcome")
SUBJECT = "SELECT DISTINCT a.history FROM acknowledgements a"
OTHERWISE = "nothing was acknowledged"
QUERY = """
    SELECT z.history, z.what, z.op_a, z.op_b, z.gap_ns / 1000000.0 AS ms_gap, 0 AS judged,
        COALESCE(z.window_id, 'none') AS fault
    FROM (
    SELECT w.history, w.what, w.op_a, w.op_b, w.gap_ns, e.window_id,
        ROW_NUMBER() OVER (PARTITION BY w.history
            ORDER BY e.at_ns DESC NULLS LAST, e.window_id DESC NULLS LAST) AS age
    FROM (
        SELECT x.history, x.what, x.op_a, x.op_b, x.at_ns, x.gap_ns,
            ROW_NUMBER() OVER (PARTITION BY x.history ORDER BY x.op_b NULLS LAST) AS number
        FROM (
            SELECT p.history, p.what, p.at_ns, p.at_ns - p.before_ns AS gap_ns,
                MAX(CASE WHEN k.at_ns = p.before_ns THEN k.op END) AS op_a,
                MIN(CASE WHEN k.at_ns = p.at_ns THEN k.op END) AS op_b
            FROM (
                SELECT b.*, b.before_ns AS edge_ns FROM longest_pauses b
                UNION ALL SELECT e.*, e.at_ns AS edge_ns FROM longest_pauses e
            ) p
            JOIN acknowledgements k ON k.history = p.history AND k.what = p.what AND k.at_ns = p.edge_ns
            GROUP BY p.history, p.what, p.before_ns, p.at_ns
        ) x
    ) w
    LEFT JOIN (SELECT b.history, b.window_id, MIN(b.at_ns) AS at_ns FROM events b WHERE b.kind = 'window-begin'
        GROUP BY b.history, b.window_id) e ON e.history = w.history AND e.at_ns <= w.at_ns
    WHERE w.number = 1
    ) z
    WHERE z.age = 1
    """
SENTENCE = "No {what} was acknowledged for {ms_gap:.0f} ms[ (last fault: {fault})]."
