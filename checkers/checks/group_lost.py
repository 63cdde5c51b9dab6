"""group-lost: a group has committed past a record that none of its members was ever given.

    log              a   b   c
    group            a       c, commit 3        -> b is lost to the group, whoever else read it

At least once is what a group is promised that commits what it has processed: between the members, streams begin where
the last commit lies, so that a record below a commit was given to somebody. Judged above the first record that the
group was given in a partition, in groups whose members subscribe, for acknowledged records that somebody has seen.
Source: Kafka documentation, "Message Delivery Semantics" (at least once); catalogue cmt-005.
"""

NAME = "group-lost"
GUARANTEE = "cmt-005"
STRENGTH = "durability"
DECIDES = ("cmt-005", "grp-016")
OBSERVES = ("commit",)
SHOWING = ("group",)
HARMS = True
NEEDS = ("records.offset", "records.value", "operations.committed_offset", "operations.group", "clients.group")
SUBJECT = """
    SELECT DISTINCT c.history FROM commits c
    JOIN clients m ON m.history = c.history AND m.group_id = c.group_id AND m.mode = 'subscribe'
    """
OTHERWISE = "no group whose members subscribe committed an offset"
QUERY = """
    SELECT s.history, s.topic, s.partition, g.group_id, s.log_offset AS offset_a, s.value AS value_a, s.op AS op_a,
        g.committed_offset AS offset_b, MIN(o.op) AS op_b
    FROM group_reach g
    JOIN sent s ON s.history = g.history AND s.topic = g.topic AND s.partition = g.partition AND s.outcome = 'ok'
        AND s.log_offset > g.first_given AND s.log_offset < g.committed_offset
    JOIN commits o ON o.history = g.history AND o.group_id = g.group_id AND o.topic = g.topic
        AND o.partition = g.partition AND o.committed_offset = g.committed_offset AND o.done_ns IS NOT NULL
    LEFT JOIN txns t ON t.history = s.history AND t.txn = s.txn
    WHERE (s.txn IS NULL OR t.state = 'committed')
        AND NOT EXISTS (SELECT 1 FROM given v WHERE v.history = g.history AND v.group_id = g.group_id
            AND v.value = s.value)
        AND EXISTS (SELECT 1 FROM seen r WHERE r.history = s.history AND r.value = s.value AND r.topic = s.topic
            AND r.partition = s.partition AND r.log_offset = s.log_offset)
    GROUP BY s.history, s.topic, s.partition, g.group_id, s.log_offset, s.value, s.op, g.committed_offset
    """
SENTENCE = (
    "Group {group_id} has committed offset {offset_b} of {topic}-{partition}, but no member ever received offset "
    "{offset_a} (value {value_a})."
)
