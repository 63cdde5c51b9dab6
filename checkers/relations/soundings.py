"""What may make a history unfit to be judged (checkers/soundness.py), by blocks of operation numbers."""

from checkers.relations.relation import Relation

BLOCK = 5
"""Numbers of a block, as a power of two: a bit each, in a number that has a sign."""

RELATIONS = {
    "soundings": Relation(
        f"""
        SELECT b.history, b.block, b.backward, b.first_backward, b.calls - b.numbers AS surplus
        FROM (
            SELECT o.history, o.op >> {BLOCK} AS block, COUNT(*) AS calls,
                BIT_COUNT(BIT_OR(CAST(1 AS BIGINT) << CAST(o.op & {(1 << BLOCK) - 1} AS INT))) AS numbers,
                SUM(CASE WHEN o.return_ns < o.call_ns THEN 1 ELSE 0 END) AS backward,
                MIN(CASE WHEN o.return_ns < o.call_ns THEN o.op END) AS first_backward
            FROM operations o GROUP BY o.history, o.op >> {BLOCK}
        ) b
        WHERE b.backward > 0 OR b.calls > b.numbers
        """,
        kept=True,
    )
}
