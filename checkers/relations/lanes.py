"""Where a producer's records are out of order: in blocks, so that one that sends everything is many small tasks.

A lane is what one producer sent to one partition, in the order of its calls. Each block of places in it is put in order
by itself; then the last record of a block is held against the first of the next.
"""

from brokertrial.checkers.relations.relation import Relation

SHIFT = 12
"""Places of a block, as a power of two."""
_NOWHERE = 1 << 53
"""The block of records whose place is not known: they come last."""


def relations(shift: int = SHIFT) -> dict[str, Relation]:
    """`disordered`: the blocks in which two neighbours of a lane are out of order. Tests take smaller blocks."""
    ordered = "PARTITION BY p.lane, p.block ORDER BY p.place NULLS LAST, p.op NULLS LAST"
    return {
        # The lanes, numbered: sorting by numbers is cheaper than by names.
        "producer_partitions": Relation(
            """
            SELECT x.history, x.client, x.topic, x.partition,
                ROW_NUMBER() OVER (ORDER BY x.history NULLS LAST, x.client NULLS LAST, x.topic NULLS LAST,
                    x.partition NULLS LAST) AS lane
            FROM (
                SELECT p.history, p.client, p.topic, p.partition FROM block_fingerprints p WHERE p.side = 'sent'
                UNION SELECT s.history, s.client, r.topic, r.partition
                FROM suspect_sent s JOIN suspect_seen r ON r.history = s.history AND r.value = s.value
            ) x
            """,
            kept=True,
        ),
        "records_by_producer": Relation(f"""
            SELECT k.lane, COALESCE(x.place >> {shift}, {_NOWHERE}) AS block, x.history, x.client, x.topic,
                x.partition, x.log_offset, x.value, x.op, x.place, x.raw
            FROM placed x
            JOIN producer_partitions k ON k.history = x.history AND k.client = x.client AND k.topic = x.topic
                AND k.partition = x.partition
            """),
        "producer_blocks": Relation(
            f"""
            SELECT w.lane, w.block, MAX(CASE WHEN w.before_offset > w.log_offset THEN 1 ELSE 0 END) AS inverted,
                MAX(CASE WHEN w.before_offset IS NULL THEN w.log_offset END) AS first_offset,
                MAX(CASE WHEN w.after_offset IS NULL THEN w.log_offset END) AS last_offset
            FROM (
                SELECT p.lane, p.block, p.log_offset, LAG(p.log_offset) OVER ({ordered}) AS before_offset,
                    LEAD(p.log_offset) OVER ({ordered}) AS after_offset
                FROM records_by_producer p
            ) w
            GROUP BY w.lane, w.block
            """,
            kept=True,
        ),
        # With both blocks where one does not go on above the one before: what is in order between two of these blocks
        # need not be looked at, and is not missed.
        "disordered": Relation(
            """
            SELECT b.lane, b.block FROM producer_blocks b WHERE b.inverted = 1
            UNION
            SELECT v.lane, CASE WHEN e.side = 0 THEN v.block ELSE v.block_before END
            FROM (
                SELECT b.lane, b.block, b.first_offset,
                    LAG(b.block) OVER (PARTITION BY b.lane ORDER BY b.block NULLS LAST) AS block_before,
                    LAG(b.last_offset) OVER (PARTITION BY b.lane ORDER BY b.block NULLS LAST) AS offset_before
                FROM producer_blocks b
            ) v
            CROSS JOIN (SELECT 0 AS side UNION ALL SELECT 1) e
            WHERE v.offset_before > v.first_offset
            """,
            kept=True,
        ),
    }


RELATIONS = relations()
