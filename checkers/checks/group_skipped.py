"""group-skipped: a member that took over a partition began above all that the group had ever committed.

    m1       a b      commit 2 (ok)   leaves
    log      a b c d
    m2       takes over, is given d         -> c is skipped, whoever may get it later

A successor resumes at the last commit. Judged where a stream of a subscribed member began, against the highest commit
that may have been in force, for records that somebody saw in between and that every reader must be shown. Without a
commit the client decides where it begins (auto.offset.reset). What the group went past by a commit is `group-lost`.
Source: Kafka documentation, "Consumer Position"; catalogue cmt-005.
"""

NAME = "group-skipped"
GUARANTEE = "cmt-005"
STRENGTH = "durability"
OBSERVES = ("commit",)
SHOWING = ("group",)
HARMS = True
NEEDS = ("records.stream", "records.position", "operations.committed_offset", "clients.group")
SUBJECT = """
    SELECT DISTINCT r.history FROM resumptions r
    JOIN commits c ON c.history = r.history AND c.group_id = r.group_id AND c.topic = r.topic
        AND c.partition = r.partition
    """
OTHERWISE = "no member began to read where its group had committed"
QUERY = """
    SELECT g.history, g.group_id, g.topic, g.partition, MIN(s.log_offset) AS offset_a, g.log_offset AS offset_b,
        g.value AS value_b, g.op AS op_b, g.committed_by AS op_a, COUNT(DISTINCT s.log_offset) AS skipped,
        g.committed_offset, g.client
    FROM (
        SELECT r.history, r.group_id, r.topic, r.partition, r.log_offset, r.value, r.op, r.client,
            MAX(c.committed_offset) AS committed_offset, MIN(c.op) AS committed_by
        FROM resumptions r
        JOIN commits c ON c.history = r.history AND c.group_id = r.group_id AND c.topic = r.topic
            AND c.partition = r.partition AND c.call_ns <= r.return_ns
        GROUP BY r.history, r.group_id, r.topic, r.partition, r.log_offset, r.value, r.op, r.client, r.stream
        HAVING MAX(c.committed_offset) < r.log_offset
            AND MIN(CASE WHEN c.done_ns < r.return_ns THEN c.done_ns END) IS NOT NULL
    ) g
    JOIN seen s ON s.history = g.history AND s.topic = g.topic AND s.partition = g.partition
        AND s.log_offset >= g.committed_offset AND s.log_offset < g.log_offset
    LEFT JOIN written_in_txn w ON w.history = s.history AND w.value = s.value
    LEFT JOIN txns t ON t.history = w.history AND t.txn = w.txn
    LEFT JOIN topics k ON k.history = s.history AND k.topic = s.topic
    LEFT JOIN trimmed b ON b.history = s.history AND b.topic = s.topic AND b.partition = s.partition
    WHERE (w.txn IS NULL OR t.state = 'committed') AND NOT COALESCE(k.compacted, FALSE)
        AND (b.low IS NULL OR s.log_offset >= b.low)
    GROUP BY g.history, g.group_id, g.topic, g.partition, g.log_offset, g.value, g.op, g.committed_by,
        g.committed_offset, g.client
    """
SENTENCE = (
    "Group {group_id} had committed no more than offset {committed_offset} of {topic}-{partition}, but {client}, "
    "the new owner, began at {offset_b}: {skipped} record(s) skipped, the first at {offset_a}."
)
