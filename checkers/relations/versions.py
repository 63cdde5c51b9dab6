"""The order of a partition's values as sends and polls tell it, for histories that know no streams (checkers/jepsen).

An offset that nobody names does not exist here: markers and compacted records leave gaps, and an index counts what is
left. `versions` in the names is Jepsen's word for these values.
"""

from brokertrial.checkers.relations.relation import Relation

RELATIONS = {
    # What polls showed, whatever became of them: a poller is never shown what is not so.
    "shown": Relation("SELECT r.* FROM records r WHERE r.side = 'seen' AND r.value IS NOT NULL"),
    "shown_ok": Relation(
        """
        SELECT r.history, r.topic, r.partition, r.value, MIN(r.op) AS op FROM records r
        WHERE r.side = 'seen' AND r.value IS NOT NULL AND r.outcome = 'ok'
        GROUP BY r.history, r.topic, r.partition, r.value
        """,
        kept=True,
    ),
    # Operations whose sends certainly happened: acknowledged, or a successful poll showed one of their values.
    "settled": Relation(
        """
        SELECT DISTINCT s.history, s.op FROM sent s
        LEFT JOIN shown_ok r ON r.history = s.history AND r.value = s.value AND r.topic = s.topic
            AND r.partition = s.partition
        WHERE s.outcome = 'ok' OR (s.outcome = 'info' AND r.op IS NOT NULL)
        """,
        kept=True,
    ),
    # Who said that which value is at which offset. binding: a poll, or an acknowledgement that every leader must keep.
    "raw_log": Relation(
        """
        SELECT x.history, x.topic, x.partition, x.log_offset, x.value, MIN(x.op) AS op, MAX(x.binding) AS binding
        FROM (
            SELECT r.history, r.topic, r.partition, r.log_offset, r.value, r.op, 1 AS binding FROM shown r
            WHERE r.log_offset IS NOT NULL
            UNION ALL
            SELECT s.history, s.topic, s.partition, s.log_offset, s.value, s.op,
                CASE WHEN p.durable THEN 1 ELSE 0 END AS binding
            FROM sent s
            JOIN settled t ON t.history = s.history AND t.op = s.op
            JOIN producers p ON p.history = s.history AND p.client = s.client
            WHERE s.log_offset IS NOT NULL
        ) x
        GROUP BY x.history, x.topic, x.partition, x.log_offset, x.value
        """,
        kept=True,
    ),
    # One value an offset (the lowest where several are claimed), numbered without gaps.
    "version_order": Relation(
        """
        SELECT w.history, w.topic, w.partition, w.log_offset, w.value, w.op, w.binding,
            ROW_NUMBER() OVER (PARTITION BY w.history, w.topic, w.partition ORDER BY w.log_offset NULLS LAST) - 1
                AS version
        FROM (
            SELECT x.history, x.topic, x.partition, x.log_offset, MIN(x.value) AS value, MIN(x.op) AS op,
                MAX(x.binding) AS binding
            FROM raw_log x GROUP BY x.history, x.topic, x.partition, x.log_offset
        ) w
        """,
        kept=True,
    ),
    # A value that was chosen for two offsets counts at the higher one.
    "version_of": Relation(
        """
        SELECT v.history, v.topic, v.partition, v.value, MAX(v.version) AS version FROM version_order v
        GROUP BY v.history, v.topic, v.partition, v.value
        """,
        kept=True,
    ),
    # From where to where a value lies, so that a conflict about an offset accuses nobody falsely.
    "version_span": Relation(
        """
        SELECT x.history, x.topic, x.partition, x.value, MIN(v.version) AS first_version,
            MAX(v.version) AS last_version, MIN(x.log_offset) AS first_offset
        FROM raw_log x
        JOIN version_order v ON v.history = x.history AND v.topic = x.topic AND v.partition = x.partition
            AND v.log_offset = x.log_offset
        GROUP BY x.history, x.topic, x.partition, x.value
        """,
        kept=True,
    ),
    # How far successful polls surely came, and what lies there that none of them showed: little or nothing.
    "poll_reach": Relation(
        """
        SELECT y.history, y.topic, y.partition, MAX(y.first_version) AS reach
        FROM version_span y
        JOIN shown_ok r ON r.history = y.history AND r.topic = y.topic AND r.partition = y.partition
            AND r.value = y.value
        GROUP BY y.history, y.topic, y.partition
        """,
        kept=True,
    ),
    "unshown": Relation(
        """
        SELECT v.history, v.topic, v.partition, v.value, v.first_offset, v.last_version
        FROM version_span v
        LEFT JOIN shown_ok n ON n.history = v.history AND n.topic = v.topic AND n.partition = v.partition
            AND n.value = v.value
        WHERE n.value IS NULL
        """,
        kept=True,
    ),
    "lost_versions": Relation(
        """
        SELECT v.history, v.topic, v.partition, v.value, v.first_offset, q.reach, MIN(s.op) AS op,
            MAX(CASE WHEN p.durable THEN 1 ELSE 0 END) AS judged
        FROM unshown v
        JOIN poll_reach q ON q.history = v.history AND q.topic = v.topic AND q.partition = v.partition
            AND v.last_version <= q.reach
        JOIN sent s ON s.history = v.history AND s.topic = v.topic AND s.partition = v.partition AND s.value = v.value
        JOIN settled t ON t.history = s.history AND t.op = s.op
        JOIN producers p ON p.history = s.history AND p.client = s.client
        GROUP BY v.history, v.topic, v.partition, v.value, v.first_offset, q.reach
        """,
        kept=True,
    ),
    # Reads one after the other: the one before in the same operation, and where both lie.
    "read_steps": Relation(
        """
        SELECT w.history, w.topic, w.partition, w.op, w.place, w.log_offset, w.value, w.version, w.before_version,
            w.before_value, w.before_offset
        FROM (
            SELECT r.history, r.topic, r.partition, r.op, r.place, r.log_offset, r.value, v.version,
                LAG(v.version) OVER (PARTITION BY r.history, r.op, r.topic, r.partition
                    ORDER BY r.place NULLS LAST) AS before_version,
                LAG(r.value) OVER (PARTITION BY r.history, r.op, r.topic, r.partition
                    ORDER BY r.place NULLS LAST) AS before_value,
                LAG(r.log_offset) OVER (PARTITION BY r.history, r.op, r.topic, r.partition
                    ORDER BY r.place NULLS LAST) AS before_offset
            FROM shown r
            LEFT JOIN version_of v ON v.history = r.history AND v.topic = r.topic AND v.partition = r.partition
                AND v.value = r.value
        ) w
        WHERE (w.version - w.before_version < 1 OR w.version - w.before_version > 1)
            AND NOT EXISTS (SELECT 1 FROM events e
                JOIN operations o ON o.history = e.history AND o.client = e.client AND o.topic = e.topic
                    AND o.partition = e.partition AND e.at_ns <= o.return_ns
                    AND (e.at_ns > o.call_ns OR e.at_ns = o.return_ns)
                WHERE e.kind = 'rebalance' AND e.history = w.history AND o.op = w.op AND o.topic = w.topic
                    AND o.partition = w.partition)
        """,
        kept=True,
    ),
    # For each operation that read a partition, where the last successful one of the same stream had left off.
    "poll_turns": Relation("""
        SELECT w.history, w.client, w.topic, w.partition, w.op, w.first_place, w.before_place
        FROM (
            SELECT x.history, x.client, x.topic, x.partition, x.op, x.first_place,
                MAX(CASE WHEN x.outcome = 'ok' THEN x.last_place END) OVER (
                    PARTITION BY x.history, x.client, x.topic, x.partition, x.stream ORDER BY x.op NULLS LAST
                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_place
            FROM (
                SELECT r.history, r.client, r.topic, r.partition, r.stream, r.op, r.outcome,
                    MIN(r.place) AS first_place, MAX(r.place) AS last_place
                FROM shown r
                GROUP BY r.history, r.client, r.topic, r.partition, r.stream, r.op, r.outcome
            ) x
        ) w
        WHERE w.before_place IS NOT NULL
        """),
    "poll_steps": Relation(
        """
        SELECT t.history, t.client, t.topic, t.partition, t.op, a.op AS before_op, a.log_offset AS before_offset,
            a.value AS before_value, u.version AS before_version, b.log_offset, b.value, v.version
        FROM poll_turns t
        JOIN shown a ON a.history = t.history AND a.client = t.client AND a.topic = t.topic
            AND a.partition = t.partition AND a.place = t.before_place
        JOIN shown b ON b.history = t.history AND b.client = t.client AND b.topic = t.topic
            AND b.partition = t.partition AND b.place = t.first_place
        JOIN version_of u ON u.history = a.history AND u.topic = a.topic AND u.partition = a.partition
            AND u.value = a.value
        JOIN version_of v ON v.history = b.history AND v.topic = b.topic AND v.partition = b.partition
            AND v.value = b.value
        WHERE v.version - u.version < 1 OR v.version - u.version > 1
        """,
        kept=True,
    ),
    # Sends one after the other: the one before in the same operation, and where both lie.
    "send_steps": Relation(
        """
        SELECT w.history, w.client, w.topic, w.partition, w.op, w.place, w.value, w.version, w.before_value,
            w.before_version
        FROM (
            SELECT s.history, s.client, s.topic, s.partition, s.op, s.place, s.value, v.version,
                LAG(s.value) OVER (PARTITION BY s.history, s.op, s.topic, s.partition
                    ORDER BY s.place NULLS LAST) AS before_value,
                LAG(v.version) OVER (PARTITION BY s.history, s.op, s.topic, s.partition
                    ORDER BY s.place NULLS LAST) AS before_version
            FROM sent s
            LEFT JOIN version_of v ON v.history = s.history AND v.topic = s.topic AND v.partition = s.partition
                AND v.value = s.value
        ) w
        WHERE w.version - w.before_version < 1 OR w.version - w.before_version > 1
        """,
        kept=True,
    ),
    # For each operation that sent to a partition, the one before of the same client; what surely failed is passed over.
    "send_turns": Relation("""
        SELECT w.history, w.client, w.topic, w.partition, w.op, w.first_place, w.before_place
        FROM (
            SELECT x.history, x.client, x.topic, x.partition, x.op, x.first_place,
                LAG(x.last_place) OVER (PARTITION BY x.history, x.client, x.topic, x.partition, x.stream
                    ORDER BY x.op NULLS LAST) AS before_place
            FROM (
                SELECT s.history, s.client, s.topic, s.partition, s.stream, s.op,
                    MIN(s.place) AS first_place, MAX(s.place) AS last_place
                FROM sent s WHERE s.outcome <> 'fail'
                GROUP BY s.history, s.client, s.topic, s.partition, s.stream, s.op
            ) x
        ) w
        WHERE w.before_place IS NOT NULL
        """),
    # Dependencies between operations: who wrote the value before one's own, and whose value one polled.
    "write_write": Relation(
        """
        SELECT w.history, w.op AS from_op, s.op AS to_op, MIN(w.topic) AS topic, MIN(s.partition) AS partition,
            MIN(v.value) AS value
        FROM version_of v
        JOIN version_order u ON u.history = v.history AND u.topic = v.topic AND u.partition = v.partition
            AND u.version = v.version - 1
        JOIN sent w ON w.history = u.history AND w.topic = u.topic AND w.partition = u.partition AND w.value = u.value
        JOIN sent s ON s.history = v.history AND s.topic = v.topic AND s.partition = v.partition AND s.value = v.value
        JOIN events e ON e.history = v.history AND e.kind = 'ww-edges'
        WHERE w.op <> s.op
        GROUP BY w.history, w.op, s.op
        """,
        kept=True,
    ),
    "write_read": Relation(
        """
        SELECT s.history, s.op AS from_op, r.op AS to_op, MIN(s.topic) AS topic, MIN(s.partition) AS partition,
            MIN(s.value) AS value, MAX(CASE WHEN c.committed_only THEN 1 ELSE 0 END) AS binding
        FROM sent s
        JOIN shown r ON r.history = s.history AND r.topic = s.topic AND r.partition = s.partition AND r.value = s.value
        JOIN readers c ON c.history = r.history AND c.client = r.client
        WHERE s.op <> r.op
        GROUP BY s.history, s.op, r.op
        """,
        kept=True,
    ),
}
