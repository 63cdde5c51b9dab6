"""What went on and what stood still."""

from brokertrial.checkers.relations.relation import Relation

RELATIONS = {
    # When the last fault was taken back, in histories in which every fault was.
    "heal_times": Relation(
        """
        SELECT b.history, MAX(e.at_ns) AS healed_ns
        FROM (SELECT DISTINCT w.history, w.window_id FROM events w WHERE w.kind = 'window-begin') b
        LEFT JOIN events e ON e.history = b.history AND e.window_id = b.window_id AND e.kind = 'window-healed'
        GROUP BY b.history
        HAVING MIN(CASE WHEN e.at_ns IS NULL THEN 0 ELSE 1 END) = 1
        """,
        kept=True,
    ),
    # Calls that ask a partition, or a group, for progress: `what` and `lane` tell them apart.
    "asking": Relation(
        """
        SELECT o.history, o.kind AS what, o.topic, o.partition, o.group_id, o.op, o.client, o.call_ns, o.return_ns,
            o.outcome
        FROM operations o
        WHERE (o.kind = 'send' AND o.topic IS NOT NULL) OR (o.kind IN ('commit', 'committed') AND o.group_id IS NOT NULL
            AND o.txn IS NULL)
        """
    ),
    "acknowledgements": Relation(
        """
        SELECT a.history, a.what, a.op, a.return_ns AS at_ns FROM asking a
        WHERE a.outcome = 'ok' AND a.return_ns IS NOT NULL
        """
    ),
    # Acknowledgements in slots of equal length, about eight to a slot: where they come at random, the longest time
    # without one is longer than a slot, so that hardly any have to be sorted.
    "slotted": Relation("""
        SELECT a.history, a.what, a.at_ns, CAST(FLOOR((a.at_ns - w.first_ns) / w.slot_ns) AS BIGINT) AS slot
        FROM acknowledgements a
        JOIN (
            SELECT k.history, MIN(k.at_ns) AS first_ns,
                1 + (MAX(k.at_ns) - MIN(k.at_ns)) / (1 + COUNT(*) / 8) AS slot_ns
            FROM acknowledgements k GROUP BY k.history
        ) w ON w.history = a.history
        """),
    "slots": Relation(
        """
        SELECT s.history, s.what, s.slot, MIN(s.at_ns) AS first_ns, MAX(s.at_ns) AS last_ns FROM slotted s
        GROUP BY s.history, s.what, s.slot
        """,
        kept=True,
    ),
    # The longest time from the last acknowledgement of a slot to the first of the next. Stretches of 1,024 slots are
    # looked through side by side, and then what lies between them.
    "between_slots": Relation(
        """
        SELECT x.history, x.what, x.before_ns, x.at_ns, x.longest_ns
        FROM (
            SELECT y.history, y.what, y.before_ns, y.at_ns,
                MAX(y.at_ns - y.before_ns) OVER (PARTITION BY y.history) AS longest_ns
            FROM (
                SELECT z.history, z.what, z.before_ns, z.at_ns
                FROM (
                    SELECT w.history, w.what, w.before_ns, w.at_ns,
                        MAX(w.at_ns - w.before_ns) OVER (PARTITION BY w.history, w.what, w.stretch) AS longest_ns
                    FROM (
                        SELECT s.history, s.what, s.slot >> 10 AS stretch, s.first_ns AS at_ns,
                            LAG(s.last_ns) OVER (PARTITION BY s.history, s.what, s.slot >> 10
                                ORDER BY s.slot NULLS LAST) AS before_ns
                        FROM slots s
                    ) w
                ) z
                WHERE z.at_ns - z.before_ns = z.longest_ns
                UNION ALL
                SELECT c.history, c.what,
                    LAG(c.last_ns) OVER (PARTITION BY c.history, c.what ORDER BY c.stretch NULLS LAST), c.first_ns
                FROM (
                    SELECT s.history, s.what, s.slot >> 10 AS stretch, MIN(s.first_ns) AS first_ns,
                        MAX(s.last_ns) AS last_ns
                    FROM slots s GROUP BY s.history, s.what, s.slot >> 10
                ) c
            ) y
        ) x
        WHERE x.at_ns - x.before_ns = x.longest_ns
        """,
        kept=True,
    ),
    # Slots in which there may be a longer one.
    "long_slots": Relation(
        """
        SELECT s.history, s.what, s.slot
        FROM slots s
        LEFT JOIN (SELECT DISTINCT b.history, b.longest_ns FROM between_slots b) l ON l.history = s.history
        WHERE s.last_ns - s.first_ns >= COALESCE(l.longest_ns, 1)
        """,
        kept=True,
    ),
    # The longest times of each history without an acknowledgement: nearly always one.
    "longest_pauses": Relation(
        """
        SELECT p.history, p.what, p.before_ns, p.at_ns
        FROM (
            SELECT u.history, u.what, u.before_ns, u.at_ns,
                MAX(u.at_ns - u.before_ns) OVER (PARTITION BY u.history) AS longest_ns
            FROM (
                SELECT b.history, b.what, b.before_ns, b.at_ns FROM between_slots b
                UNION ALL
                SELECT a.history, a.what,
                    LAG(a.at_ns) OVER (PARTITION BY a.history, a.what, a.slot ORDER BY a.at_ns NULLS LAST), a.at_ns
                FROM slotted a
                JOIN long_slots s ON s.history = a.history AND s.what = a.what AND s.slot = a.slot
            ) u
        ) p
        WHERE p.at_ns - p.before_ns = p.longest_ns AND p.at_ns > p.before_ns
        """,
        kept=True,
    ),
    # What was asked after the heal and never acknowledged, and for how long it was waited for.
    "stalled_calls": Relation(
        """
        SELECT a.history, a.what, a.topic, a.partition, a.group_id, MIN(a.op) AS op_a,
            CASE WHEN MAX(a.op) > MIN(a.op) THEN MAX(a.op) END AS op_b, COUNT(*) AS calls,
            MAX(CASE WHEN c.library = 'wire' THEN 1 ELSE 0 END) AS raw,
            MAX(COALESCE(a.return_ns, e.end_ns, a.call_ns)) - MIN(a.call_ns) AS waited_ns
        FROM asking a
        JOIN heal_times h ON h.history = a.history AND a.call_ns >= h.healed_ns
        LEFT JOIN clients c ON c.history = a.history AND c.client = a.client
        LEFT JOIN (SELECT o.history, MAX(o.return_ns) AS end_ns FROM operations o GROUP BY o.history) e
            ON e.history = a.history
        GROUP BY a.history, a.what, a.topic, a.partition, a.group_id
        HAVING MAX(CASE WHEN a.outcome = 'ok' THEN 1 ELSE 0 END) = 0
        """,
        kept=True,
    ),
}
