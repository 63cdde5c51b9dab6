"""What was sent, what was seen, and by whom: the ground that every check stands on."""

from brokertrial.checkers.relations import blocks
from brokertrial.checkers.relations.relation import Relation

RELATIONS = {
    **blocks.RELATIONS,
    # What an acknowledgement of this client is worth, and whether a second copy of its records may exist.
    # durable: all in-sync replicas have it, and only such a one may lead; or there is only one.
    # guarded: nothing but the broker can store it twice.
    "producers": Relation("""
        SELECT c.history, c.client, c.library = 'wire' AS raw,
            COALESCE((c.acks = -1 AND (h.nodes = 1 OR NOT h.unclean_election)) OR (c.acks = 1 AND h.nodes = 1), FALSE)
                AS durable,
            COALESCE(c.idempotence, FALSE) OR c.transactional_id IS NOT NULL AS idempotent,
            COALESCE(c.retries = 0, FALSE) AS single_attempt,
            COALESCE(c.idempotence, FALSE) OR c.transactional_id IS NOT NULL
                OR (c.retries = 0 AND f.history IS NULL) AS guarded
        FROM clients c
        JOIN histories h ON h.history = c.history
        LEFT JOIN (SELECT DISTINCT e.history FROM events e WHERE e.kind = 'window-begin') f ON f.history = c.history
        """),
    "readers": Relation("""
        SELECT c.history, c.client, COALESCE(c.isolation = 'read_committed', FALSE) AS committed_only FROM clients c
        """),
    # Topics that were deleted, and perhaps made again under the same name, start a second log: nothing is said of them.
    "recreated": Relation(
        """
        SELECT DISTINCT o.history, o.topic FROM operations o
        WHERE o.kind IN ('delete_topic', 'delete_topics') AND o.topic IS NOT NULL AND o.outcome <> 'fail'
        """,
        kept=True,
    ),
    "sent": Relation("""
        SELECT r.* FROM records r
        LEFT JOIN recreated d ON d.history = r.history AND d.topic = r.topic
        WHERE r.side = 'sent' AND r.value IS NOT NULL AND d.topic IS NULL
        """),
    "found": Relation("""
        SELECT r.* FROM records r
        LEFT JOIN recreated d ON d.history = r.history AND d.topic = r.topic
        WHERE r.side = 'seen' AND r.log_offset IS NOT NULL AND d.topic IS NULL
        """),
    # Records seen that name their value; what does not is the business of the phantom check alone.
    "seen": Relation("SELECT r.* FROM found r WHERE r.value IS NOT NULL"),
    # Values that need a closer look. All others were acknowledged with an offset and seen, at that offset only, intact:
    # the checks of delivery look at these alone. The fingerprint (blocks.py) says which need not even be joined.
    "suspect_values": Relation(
        """
        SELECT DISTINCT COALESCE(s.history, r.history) AS history, COALESCE(s.value, r.value) AS value
        FROM (SELECT x.* FROM records_to_check x WHERE x.side = 'sent' AND x.suspected) s
        FULL JOIN (SELECT y.* FROM records_to_check y WHERE y.side = 'seen' AND y.suspected) r
            ON r.history = s.history AND r.value = s.value
        WHERE s.value IS NULL OR r.value IS NULL OR s.outcome <> 'ok' OR s.log_offset IS NULL OR r.log_offset IS NULL
            OR s.log_offset <> r.log_offset OR s.partition <> r.partition OR s.topic <> r.topic OR NOT r.intact
        """,
        kept=True,
    ),
    "suspect_sent": Relation(
        """
        SELECT s.* FROM records_to_check s
        JOIN suspect_values d ON d.history = s.history AND d.value = s.value
        LEFT JOIN recreated x ON x.history = s.history AND x.topic = s.topic
        WHERE s.side = 'sent' AND x.topic IS NULL
        """,
        kept=True,
    ),
    "suspect_seen": Relation(
        """
        SELECT r.* FROM records_to_check r
        JOIN suspect_values d ON d.history = r.history AND d.value = r.value
        LEFT JOIN recreated x ON x.history = r.history AND x.topic = r.topic
        WHERE r.side = 'seen' AND r.log_offset IS NOT NULL AND x.topic IS NULL
        """,
        kept=True,
    ),
    # What there is to judge at all, so that a check need not look through the records to learn that it has no subject.
    "writers": Relation(
        """
        SELECT w.*, p.raw, p.durable, p.idempotent, p.single_attempt, p.guarded
        FROM (
            SELECT s.history, s.client, MAX(s.ok) > 0 AS acknowledged,
                MAX(CASE WHEN s.block >= 0 THEN s.ok ELSE 0 END) > 0 AS told_offsets, MAX(s.refused) > 0 AS refused
            FROM block_fingerprints s
            LEFT JOIN recreated d ON d.history = s.history AND d.topic = s.topic
            WHERE s.side = 'sent' AND s.named > 0 AND d.topic IS NULL
            GROUP BY s.history, s.client
        ) w JOIN producers p ON p.history = w.history AND p.client = w.client
        """,
        kept=True,
    ),
    "reading": Relation(
        """
        SELECT r.history, MAX(r.chained) > 0 AS in_streams
        FROM block_fingerprints r
        LEFT JOIN recreated d ON d.history = r.history AND d.topic = r.topic
        WHERE r.side = 'seen' AND r.block >= 0 AND d.topic IS NULL
        GROUP BY r.history
        """,
        kept=True,
    ),
    # Topics to which something was sent.
    "sent_to": Relation("""
        SELECT DISTINCT s.history, s.topic FROM block_fingerprints s
        LEFT JOIN recreated d ON d.history = s.history AND d.topic = s.topic
        WHERE s.side = 'sent' AND s.named > 0 AND d.topic IS NULL
        """),
}
