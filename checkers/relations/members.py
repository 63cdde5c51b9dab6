"""What members of groups were told and did: generations, streams and where they began, commits in force."""

from brokertrial.checkers.relations.relation import Relation

RELATIONS = {
    # Groups that somebody deleted, in whole or in their offsets: nothing is said of them.
    "reset_groups": Relation("""
        SELECT DISTINCT o.history, o.group_id FROM operations o
        WHERE o.kind IN ('delete_group', 'delete_groups', 'delete_offsets') AND o.outcome <> 'fail'
            AND o.group_id IS NOT NULL
        """),
    # Groups of the new protocol: epochs belong to members there, not to the group.
    "epoch_groups": Relation("""
        SELECT DISTINCT c.history, c.group_id FROM clients c WHERE c.protocol = 'consumer' AND c.group_id IS NOT NULL
        """),
    # When each generation of a classic group was first seen to exist.
    "generations": Relation(
        """
        SELECT x.history, x.group_id, x.generation, MIN(x.at_ns) AS at_ns
        FROM (
            SELECT m.history, m.group_id, m.generation, m.from_ns AS at_ns FROM memberships m WHERE m.generation >= 0
            UNION ALL
            SELECT o.history, o.group_id, o.generation, o.return_ns FROM operations o
            WHERE o.generation >= 0 AND o.group_id IS NOT NULL AND o.outcome = 'ok' AND o.return_ns IS NOT NULL
        ) x
        LEFT JOIN epoch_groups e ON e.history = x.history AND e.group_id = x.group_id
        LEFT JOIN reset_groups d ON d.history = x.history AND d.group_id = x.group_id
        WHERE e.group_id IS NULL AND d.group_id IS NULL
        GROUP BY x.history, x.group_id, x.generation
        """,
        kept=True,
    ),
    # Stretches of a minute and longer in which no membership of a group began or ended, up to the last that is known.
    "quiet_periods": Relation(
        """
        SELECT w.history, w.group_id, w.at_ns AS from_ns, w.next_ns AS until_ns
        FROM (
            SELECT x.history, x.group_id, x.at_ns, LEAD(x.at_ns) OVER (PARTITION BY x.history, x.group_id
                ORDER BY x.at_ns NULLS LAST) AS next_ns
            FROM (
                SELECT m.history, m.group_id, m.from_ns AS at_ns FROM memberships m WHERE m.generation >= 0
                UNION
                SELECT m.history, m.group_id, m.until_ns FROM memberships m
                WHERE m.generation >= 0 AND m.until_ns IS NOT NULL
                UNION
                SELECT g.history, g.group_id, e.at_ns
                FROM (SELECT DISTINCT m.history, m.group_id FROM memberships m WHERE m.generation >= 0) g
                JOIN events e ON e.history = g.history AND e.kind IN ('final-read', 'conclusion')
            ) x
        ) w
        WHERE w.next_ns - w.at_ns >= 60000000000
        """,
        kept=True,
    ),
    # What subscribed members called: without it, all calls of everybody would be brought together with what was read.
    "subscribed_calls": Relation("""
        SELECT o.history, o.op, o.topic, o.partition, o.return_ns
        FROM operations o JOIN subscribers c ON c.history = o.history AND c.client = o.client
        WHERE o.outcome = 'ok' AND o.return_ns IS NOT NULL
        """),
    # The beginnings of streams that a subscribed member had of a partition: the first record, and the call that had it.
    "resumptions": Relation(
        """
        SELECT y.history, y.group_id, y.client, y.topic, y.partition, y.stream, y.log_offset, y.value, y.op,
            y.return_ns, MAX(m.from_ns) AS since_ns
        FROM (
            SELECT x.history, c.group_id, x.client, x.topic, x.partition, x.stream, x.log_offset, x.value, x.op,
                o.return_ns, ROW_NUMBER() OVER (
                    PARTITION BY x.history, x.client, x.topic, x.partition, x.stream
                    ORDER BY x.place NULLS LAST, x.log_offset NULLS LAST) AS number
            FROM found x
            JOIN subscribers c ON c.history = x.history AND c.client = x.client
            JOIN subscribed_calls o ON o.history = x.history AND o.op = x.op AND o.topic = x.topic
                AND o.partition = x.partition
            WHERE x.stream IS NOT NULL AND x.place = 0
        ) y
        LEFT JOIN self_committing a ON a.history = y.history AND a.group_id = y.group_id
        LEFT JOIN reset_groups d ON d.history = y.history AND d.group_id = y.group_id
        LEFT JOIN memberships m ON m.history = y.history AND m.client = y.client AND m.topic = y.topic
            AND m.partition = y.partition AND m.group_id = y.group_id AND m.from_ns <= y.return_ns
        WHERE y.number = 1 AND a.group_id IS NULL AND d.group_id IS NULL
            AND NOT EXISTS (SELECT 1 FROM operations k WHERE k.history = y.history AND k.client = y.client
                AND k.kind = 'seek')
            AND NOT EXISTS (SELECT 1 FROM events e WHERE e.history = y.history AND e.kind = 'out-of-range'
                AND e.topic = y.topic AND e.partition = y.partition)
        GROUP BY y.history, y.group_id, y.client, y.topic, y.partition, y.stream, y.log_offset, y.value, y.op,
            y.return_ns
        """,
        kept=True,
    ),
}
