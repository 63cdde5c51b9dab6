"""What may make a history unfit to be judged (checkers/engines/soundness.py), by blocks of operation numbers."""

from brokertrial.checkers.relations.blocks import link
from brokertrial.checkers.relations.relation import Relation

BLOCK = 12
"""Numbers of a block, as a power of two."""
BITS = 5
"""Numbers that are looked at as bits, as a power of two: a bit each, in a number that has a sign."""

RELATIONS = {
    # Blocks in doubt. repeated: not known to be so many numbers in a row, each once. With as many calls as there are
    # numbers from low to high, one that is there twice stands for one that is not, and the links tell (blocks.py).
    "history_flags": Relation(
        f"""
        SELECT b.history, b.block, b.backward, b.first_backward, b.repeated
        FROM (
            SELECT b.history, b.block, b.backward, b.first_backward,
                CASE WHEN b.calls = b.high - b.low + 1 AND b.links = {link("b.high")} - {link("(b.low - 1)")} THEN 0
                     ELSE 1 END AS repeated
            FROM (
                SELECT o.history, o.op >> {BLOCK} AS block, COUNT(*) AS calls, MIN(o.op) AS low, MAX(o.op) AS high,
                    SUM({link("o.op")} - {link("(o.op - 1)")}) AS links,
                    SUM(CASE WHEN o.return_ns < o.call_ns THEN 1 ELSE 0 END) AS backward,
                    MIN(CASE WHEN o.return_ns < o.call_ns THEN o.op END) AS first_backward
                FROM operations o GROUP BY o.history, o.op >> {BLOCK}
            ) b
        ) b
        WHERE b.backward > 0 OR b.repeated = 1
        """,
        kept=True,
    ),
    # What is left of those by bits: the few numbers around one that is there twice, gaps or not.
    "repeated_values": Relation(
        f"""
        SELECT o.history, o.op >> {BITS} AS block
        FROM operations o JOIN history_flags s ON s.history = o.history AND s.block = o.op >> {BLOCK}
        WHERE s.repeated = 1
        GROUP BY o.history, o.op >> {BITS}
        HAVING COUNT(*) > BIT_COUNT(BIT_OR(CAST(1 AS BIGINT) << CAST(o.op & {(1 << BITS) - 1} AS INT)))
        """,
        kept=True,
    ),
}
