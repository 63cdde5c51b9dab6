"""lost-copy, doubled-copy: consume, transform, produce, and the inputs are not each in the output exactly once.

    input    a   b   c          the group committed offset 3 in a transaction: a, b, c are done with
    output   a'      c'         -> the copy of b is lost
    output   a'  b'  c'  b"     -> b was copied twice, by two transactions that both count

A copy is a record sent with `derived_from` in a transaction; what a read_committed reader was shown counts, an aborted
copy does not. Outside transactions twice is right, and `at-least-once` judges. A copy can be lost only of an input that
a committed transaction's offsets have passed, and only where the output was read to its end at read_committed: where a
transaction is open still, what comes after it is hidden and not lost.
Source: KIP-98, "consume-transform-produce"; KIP-447; catalogue txn-013.
"""

NAME = "exactly-once"
GUARANTEE = "txn-013"
STRENGTH = "integrity"
DECIDES = ("txn-013", "txn-012", "txn-014", "txn-001")
OBSERVES = ("commit_txn",)
STANDS_ALONE = ("doubled-copy",)
HARMS = True
NEEDS = ("records.derived_from", "records.value", "records.txn", "clients.isolation", "events.offset")
SUBJECT = "SELECT DISTINCT s.history FROM sent s WHERE s.derived_from IS NOT NULL AND s.txn IS NOT NULL"
OTHERWISE = "nothing was copied in transactions"
GAPS = """
    SELECT DISTINCT s.history, s.topic, s.partition FROM sent s
    LEFT JOIN stable_to_the_end f ON f.history = s.history AND f.topic = s.topic AND f.partition = s.partition
    WHERE s.derived_from IS NOT NULL AND s.txn IS NOT NULL AND s.partition >= 0 AND f.topic IS NULL
    """
WITHHELD = "{topic}-{partition} was not read to its end at read_committed"
QUERY = """
    SELECT i.history, i.topic, i.partition, i.log_offset AS offset_a, d.source AS value_a,
        CAST(NULL AS BIGINT) AS offset_b, MIN(d.value) AS value_b, MIN(d.op) AS op_a, MAX(d.op) AS op_b,
        'doubled-copy' AS name, 'are in the output although it may be there once' AS what,
        COUNT(DISTINCT d.value) AS copies
    FROM shown_copies d
    JOIN inputs i ON i.history = d.history AND i.value = d.source
    GROUP BY i.history, i.topic, i.partition, i.log_offset, d.source
    HAVING COUNT(DISTINCT d.value) > 1
    UNION ALL
    SELECT i.history, i.topic, i.partition, i.log_offset, i.value, MAX(c.committed_offset), CAST(NULL AS BIGINT),
        i.op, MIN(c.op), 'lost-copy', 'are in the output although a transaction committed that it was done with', 0
    FROM inputs i
    JOIN commits c ON c.history = i.history AND c.topic = i.topic AND c.partition = i.partition
        AND c.committed_offset > i.log_offset AND c.done_ns IS NOT NULL
    JOIN operations o ON o.history = c.history AND o.op = c.op AND o.topic = c.topic AND o.partition = c.partition
        AND o.txn IS NOT NULL
    LEFT JOIN shown_copies d ON d.history = i.history AND d.source = i.value
    WHERE d.source IS NULL
        AND i.log_offset >= (SELECT MIN(e.log_offset) FROM inputs e
            JOIN sent s ON s.history = e.history AND s.derived_from = e.value AND s.txn IS NOT NULL
            WHERE e.history = i.history AND e.topic = i.topic AND e.partition = i.partition)
        AND NOT EXISTS (SELECT 1 FROM sent s
            LEFT JOIN stable_to_the_end f ON f.history = s.history AND f.topic = s.topic AND f.partition = s.partition
            WHERE s.history = i.history AND s.derived_from IS NOT NULL AND s.txn IS NOT NULL AND f.topic IS NULL)
    GROUP BY i.history, i.topic, i.partition, i.log_offset, i.value, i.op
    """
SENTENCE = "Of value {value_a}, the input at {topic}-{partition} offset {offset_a}, {copies} copies {what}."
