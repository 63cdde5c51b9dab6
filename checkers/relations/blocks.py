"""The fingerprint: one scan of the records that tells the blocks of the log in which nothing can be wrong.

A block is 4,096 offsets of one partition. What was sent to it, and what each stream saw of it, is summed up as a count,
an xor and a sum of a hash of (offset, value). A block is clean when

    every record of it is regular       acknowledged, with an offset; read intact, above the one read before it
    each stream's sums are the sent ones, so that it saw what was acknowledged, at the same offsets, and nothing else
    each stream's records are one chain prev -> offset, so that it saw no offset twice

Then every value of it was acknowledged once, at an offset that no other value has, and every stream that came by read
it there. All other blocks are dirty, and so is everything without an offset: the checks look closely at the values in
them, wherever else these occur, and at no others. A value that was acknowledged at several places, and read at each,
is the workload's own doing.

Soundness: for sets of records that differ, count, xor and sum agree by chance less than once in 2**60 (62 bits of xor,
the highest not quite even; the hash taken for a random function, which its test cannot tell it from). A history of
10**10 operations, each read by ten streams, has 2.5 * 10**7 comparisons: one wrong `clean` in 4 * 10**10 of them.
A wrong `dirty` costs time alone: dirty blocks are judged exactly. The hash is arithmetic that stays below 2**63, so
that no engine overflows or has another opinion.
"""

from checkers.relations.relation import Relation

SHIFT = 12
LOW = 2**31 - 1


def _high(number: str) -> str:
    return f"(({number} >> 31) & {LOW})"


def _hash(offset: str, value: str, shift: int) -> tuple[str, str, str]:
    """Three steps of a hash of (offset in its block, value) to 62 bits; `x.` names the step before."""
    line = (
        f"({value} & {LOW}) * 536870909 + (({value} >> 31) & 8589934591) * 67108859"
        f" + ({offset} & {(1 << shift) - 1}) * 100000000003"
    )
    first = f"((x.lin & {LOW}) + 805306457) * ((x.lin >> 31) + 402653189)"
    second = f"((x.half & {LOW}) + 536870923) * ({_high('x.half')} + 268435459)"
    return line, first, second


def link(offset: str) -> str:
    """A hash of an offset to 32 bits, by which the records of a stream are told to be one chain."""
    low = f"({offset} & {LOW})"
    square = f"(({low} + 715827883) * ({low} + 268435399))"
    return f"(((({square} & {LOW}) + 536870923) * ({_high(square)} + 402653189)) >> 31)"


def relations(shift: int = SHIFT) -> dict[str, Relation]:
    """The relations for blocks of 2**shift offsets; all but tests take the usual size."""
    line, first, second = _hash("r.log_offset", "r.value", shift)
    block = f"COALESCE(r.log_offset >> {shift}, -1)"
    return {
        # What was sent to, and seen of, each block, by client and stream. Block -1: records without an offset.
        # irregular: records that are not regular. links: zero but for the two ends, when the records are one chain.
        # No key of it is null, and the side is a number (way): for such keys Spark has a map that is twice as fast.
        "prints": Relation(
            f"""
            SELECT x.history, x.topic, x.partition, x.block,
                CASE x.way WHEN 1 THEN 'seen' WHEN 0 THEN 'sent' ELSE '' END AS side, x.client,
                CASE WHEN x.way = 1 THEN x.stream END AS stream,
                COUNT(*) AS records, SUM(x.named) AS named, SUM(x.ok) AS ok, SUM(x.refused) AS refused,
                SUM(x.irregular) AS irregular, SUM(x.jumped) AS jumped, COUNT(x.prev_offset) AS chained,
                MIN(x.prev_offset) AS low, MAX(x.log_offset) AS high, SUM(x.link) AS links,
                BIT_XOR(x.mix) AS mixed, SUM((x.mix >> 16) & {LOW}) AS summed
            FROM (
                SELECT x.*, {second} AS mix
                FROM (
                    SELECT x.*, {first} AS half
                    FROM (
                        SELECT r.history, r.topic, r.partition, {block} AS block, r.way, r.client,
                            r.log_offset, {line} AS lin,
                            CASE WHEN r.way = 1 THEN COALESCE(r.stream, -1) ELSE -1 END AS stream,
                            CASE WHEN r.way = 1 THEN r.prev_offset END AS prev_offset,
                            CASE WHEN r.value IS NULL THEN 0 ELSE 1 END AS named,
                            CASE WHEN r.outcome = 'ok' AND r.value IS NOT NULL THEN 1 ELSE 0 END AS ok,
                            CASE WHEN r.outcome = 'fail' AND r.value IS NOT NULL THEN 1 ELSE 0 END AS refused,
                            CASE WHEN r.way = 1 AND r.log_offset - 1 > r.prev_offset THEN 1 ELSE 0 END AS jumped,
                            CASE WHEN r.value IS NULL OR r.log_offset IS NULL THEN 1
                                 WHEN r.way = 0 AND r.outcome = 'ok' THEN 0
                                 WHEN r.way = 1 AND r.intact AND r.prev_offset < r.log_offset THEN 0
                                 ELSE 1 END AS irregular,
                            CASE WHEN r.way = 1 AND r.prev_offset IS NOT NULL
                                 THEN {link("r.log_offset")} - {link("r.prev_offset")} ELSE 0 END AS link
                        FROM (
                            SELECT r.*, CASE r.side WHEN 'seen' THEN 1 WHEN 'sent' THEN 0 ELSE 2 END AS way
                            FROM records r
                        ) r
                    ) x
                ) x
            ) x
            GROUP BY x.history, x.topic, x.partition, x.block, x.way, x.client, x.stream
            """,
            kept=True,
        ),
        # Blocks in which something may be wrong.
        "dirty": Relation(
            f"""
            SELECT b.history, b.topic, b.partition, b.block
            FROM (
                SELECT p.history, p.topic, p.partition, p.block, p.side,
                    SUM(p.records) AS records, BIT_XOR(p.mixed) AS mixed, SUM(p.summed) AS summed,
                    MAX(CASE WHEN p.irregular > 0 OR p.block < 0 THEN 1
                             WHEN p.side = 'seen' AND p.links <> {link("p.high")} - {link("p.low")} THEN 1
                             ELSE 0 END) AS irregular
                FROM prints p
                GROUP BY p.history, p.topic, p.partition, p.block, p.side,
                    CASE WHEN p.side = 'seen' THEN p.client END, p.stream
            ) b
            GROUP BY b.history, b.topic, b.partition, b.block
            HAVING MAX(b.irregular) = 1 OR MIN(b.side) = MAX(b.side) OR MIN(b.records) <> MAX(b.records)
                OR MIN(b.mixed) <> MAX(b.mixed) OR MIN(b.summed) <> MAX(b.summed)
            """,
            kept=True,
        ),
        # The values in them.
        "suspects": Relation(
            f"""
            SELECT DISTINCT r.history, r.value
            FROM records r
            JOIN dirty d ON d.history = r.history AND d.topic = r.topic AND d.partition = r.partition
                AND d.block = {block}
            WHERE r.value IS NOT NULL
            """,
            kept=True,
        ),
        # The records to look at closely: all of those values, those without one, and where a stream did not go on by 1.
        "close": Relation(
            """
            SELECT r.*, s.value IS NOT NULL AS suspected
            FROM records r
            LEFT JOIN suspects s ON s.history = r.history AND s.value = r.value
            WHERE s.value IS NOT NULL
                OR (r.side = 'seen' AND (r.value IS NULL OR r.log_offset - 1 <> r.prev_offset))
            """,
            kept=True,
        ),
        # Per history: whether anything is dirty, and whether any stream jumped.
        "doubts": Relation("""
            SELECT h.history, COALESCE(MAX(CASE WHEN d.block IS NOT NULL THEN 1 ELSE 0 END), 0) AS unclean,
                COALESCE(MAX(j.jumped), 0) AS jumped
            FROM histories h
            LEFT JOIN (SELECT p.history, SUM(p.jumped) AS jumped FROM prints p GROUP BY p.history) j
                ON j.history = h.history
            LEFT JOIN (SELECT DISTINCT x.history, 1 AS block FROM dirty x) d ON d.history = h.history
            GROUP BY h.history
            """),
    }


RELATIONS = relations()
