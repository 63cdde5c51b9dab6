"""commit-changed, commit-regression: a group got back an offset that was never committed, or no longer in force.

    commit 10 (ok, 1 to 2)   commit 20 (ok, 3 to 4)   committed? 10 (5 to 6)      -> 20 was in force: commit-regression
    commit 10 (ok, 1 to 2)                            committed? none (5 to 6)    -> forgotten
    commit 10 (ok, 1 to 2)                            committed? 15 (5 to 6)      -> 15 was never committed

Offsets may go back when somebody commits a lower one: not monotony is demanded, but that they change on request only.
A commit without an answer may take effect at any later time, so that what it wrote is never out of date; one in a
transaction takes effect when that commits. Groups with a client that commits by itself are not judged.
Source: Kafka documentation, "Consumer Position"; catalogue cmt-002, cmt-017.
"""

NAME = "commit-changed"
GUARANTEE = "cmt-002"
STRENGTH = "durability"
DECIDES = ("cmt-002", "cmt-001", "cmt-004", "cmt-017")
OBSERVES = ("committed",)
NEEDS = ("operations.committed_offset", "operations.group", "operations.call_ns", "operations.return_ns")
SUBJECT = """
    SELECT DISTINCT r.history FROM offset_fetches r
    LEFT JOIN self_committing a ON a.history = r.history AND a.group_id = r.group_id
    WHERE a.group_id IS NULL
    """
OTHERWISE = "no group whose commits are all known asked for its committed offsets"
QUERY = """
    SELECT m.history, m.group_id, m.topic, m.partition, m.committed_offset AS offset_a, m.op AS op_a, m.writer AS op_b,
        MIN(w.op) AS op_c, MIN(w.committed_offset) AS offset_b,
        CASE WHEN m.committed_offset >= 0 AND m.writer IS NOT NULL AND m.committed_offset < MIN(w.committed_offset)
             THEN 'commit-regression' ELSE 'commit-changed' END AS name,
        CASE WHEN m.committed_offset < 0 THEN 'nothing, although a commit was acknowledged before'
             WHEN m.writer IS NULL THEN 'an offset that no client had committed'
             ELSE 'an offset that a later commit had replaced' END AS why
    FROM (
        SELECT r.history, r.group_id, r.topic, r.partition, r.op, r.committed_offset, r.call_ns, MIN(c.op) AS writer,
            MAX(CASE WHEN c.op IS NULL THEN NULL WHEN c.done_ns IS NULL THEN 9223372036854775807
                ELSE c.done_ns END) AS done
        FROM offset_fetches r
        LEFT JOIN commits c ON c.history = r.history AND c.group_id = r.group_id AND c.topic = r.topic
            AND c.partition = r.partition AND c.committed_offset = r.committed_offset AND c.call_ns <= r.return_ns
            AND (r.commit_id IS NULL OR c.commit_id IS NULL OR c.commit_id = r.commit_id)
        GROUP BY r.history, r.group_id, r.topic, r.partition, r.op, r.committed_offset, r.call_ns
    ) m
    LEFT JOIN self_committing a ON a.history = m.history AND a.group_id = m.group_id
    LEFT JOIN commits w ON w.history = m.history AND w.group_id = m.group_id AND w.topic = m.topic
        AND w.partition = m.partition AND w.done_ns < m.call_ns
        AND (m.committed_offset < 0 OR w.call_ns > m.done)
    WHERE a.group_id IS NULL AND (w.op IS NOT NULL OR (m.writer IS NULL AND m.committed_offset >= 0))
    GROUP BY m.history, m.group_id, m.topic, m.partition, m.committed_offset, m.op, m.writer
    """
SENTENCE = "OffsetFetch of group {group_id} returned {offset_a} for {topic}-{partition}: {why}[ (expected {offset_b})]."
