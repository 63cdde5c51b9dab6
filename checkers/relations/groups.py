"""What groups were given, what they copied, and how far they came."""

from brokertrial.checkers.relations.relation import Relation

RELATIONS = {
    # Members of groups. Kept, so that where there are none nothing is read to find out what they did.
    "subscribers": Relation(
        """
        SELECT c.history, c.client, c.group_id FROM clients c
        WHERE c.mode = 'subscribe' AND c.group_id IS NOT NULL
        """,
        kept=True,
    ),
    # Records that members of a subscribing group were given.
    "given": Relation(
        """
        SELECT DISTINCT c.history, c.group_id, r.topic, r.partition, r.log_offset, r.value
        FROM subscribers c
        JOIN seen r ON r.history = c.history AND r.client = c.client
        """,
        kept=True,
    ),
    # For each partition of which a group was given something: the first of it, and the highest offset surely committed.
    "group_reach": Relation("""
        SELECT g.history, g.group_id, g.topic, g.partition, g.first_given, MAX(c.committed_offset) AS committed_offset
        FROM (
            SELECT v.history, v.group_id, v.topic, v.partition, MIN(v.log_offset) AS first_given FROM given v
            GROUP BY v.history, v.group_id, v.topic, v.partition
        ) g
        JOIN commits c ON c.history = g.history AND c.group_id = g.group_id AND c.topic = g.topic
            AND c.partition = g.partition AND c.done_ns IS NOT NULL
        GROUP BY g.history, g.group_id, g.topic, g.partition, g.first_given
        """),
    # Where reads at read_committed ended after the faults were healed.
    "committed_reads": Relation("""
        SELECT e.history, e.topic, e.partition, MAX(e.log_offset) AS log_end FROM events e
        WHERE e.kind = 'final-read-committed' GROUP BY e.history, e.topic, e.partition
        """),
    # Partitions whose last stable offset was their end then: no open transaction hid anything.
    "stable_to_the_end": Relation("""
        SELECT f.history, f.topic, f.partition FROM committed_reads f
        LEFT JOIN final_reads u ON u.history = f.history AND u.topic = f.topic AND u.partition = f.partition
        WHERE u.log_end IS NULL OR f.log_end >= u.log_end
        """),
    # Acknowledged records that were not copies themselves, in partitions of which something was copied.
    "inputs": Relation("""
        SELECT s.history, s.topic, s.partition, s.log_offset, s.value, s.op FROM sent s
        WHERE s.outcome = 'ok' AND s.log_offset IS NOT NULL AND s.derived_from IS NULL
        """),
    # Copies that a read_committed reader was shown, of transactions whose abort was not acknowledged, one row a copy.
    "shown_copies": Relation("""
        SELECT s.history, s.derived_from AS source, s.value, MIN(s.op) AS op
        FROM sent s LEFT JOIN txns t ON t.history = s.history AND t.txn = s.txn
        WHERE COALESCE(t.state, 'open') <> 'aborted' AND s.derived_from IS NOT NULL AND s.txn IS NOT NULL AND EXISTS (
            SELECT 1 FROM seen r JOIN readers c ON c.history = r.history AND c.client = r.client AND c.committed_only
            WHERE r.history = s.history AND r.value = s.value)
        GROUP BY s.history, s.derived_from, s.value
        """),
    # The first input of each partition that was copied outside transactions.
    "copied_from": Relation("""
        SELECT i.history, i.topic, i.partition, MIN(i.log_offset) AS first_copied
        FROM inputs i JOIN sent s ON s.history = i.history AND s.derived_from = i.value AND s.txn IS NULL
        GROUP BY i.history, i.topic, i.partition
        """),
    # Partitions that copies went to outside transactions, and that were not read to their end.
    "unread_copies": Relation("""
        SELECT DISTINCT s.history, s.topic, s.partition FROM sent s
        LEFT JOIN final_reads f ON f.history = s.history AND f.topic = s.topic AND f.partition = s.partition
        WHERE s.derived_from IS NOT NULL AND s.txn IS NULL AND f.topic IS NULL
        """),
    # Copies outside transactions that durable producers were told were stored, and when.
    "plain_copies": Relation("""
        SELECT s.history, s.derived_from AS source, s.op, o.return_ns AS acknowledged_ns
        FROM sent s
        JOIN producers p ON p.history = s.history AND p.client = s.client AND p.durable
        JOIN operations o ON o.history = s.history AND o.op = s.op AND o.topic = s.topic AND o.partition = s.partition
        WHERE s.derived_from IS NOT NULL AND s.txn IS NULL AND s.outcome = 'ok'
        """),
}
