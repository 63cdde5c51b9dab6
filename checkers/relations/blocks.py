"""The fingerprint: one scan of the records that tells the blocks of the log in which nothing can be wrong.

A block is 4,096 offsets of one partition. What was sent to it, and what each stream saw of it, is summed up as a count
and an xor of a hash of (offset, value). A block is clean when

    every record of it is regular       acknowledged, with an offset; read intact, above the one read before it
    each stream's records are one chain prev -> offset, so that it saw no offset twice
    each stream's sums are the sent ones, so that it saw what was acknowledged, at the same offsets, and nothing else

Then every value of it was acknowledged once, at an offset that no other value has, and every stream that came by read
it there. All other blocks are dirty, and so is everything without an offset: the checks look closely at the values in
them, wherever else these occur, and at no others. A value that was acknowledged at several places, and read at each,
is the workload's own doing.

Soundness: what a stream saw is a set, by its chain; a set and a collection of as many records that is not it agree in
the xor by chance less than once in 2**60 (62 bits, the highest not quite even; the hash taken for a random function,
which its test cannot tell it from). A history of 10**10 operations, each read by ten streams, has 2.5 * 10**7
comparisons: one wrong `clean` in 4 * 10**10 of them. A wrong `dirty` costs time alone: dirty blocks are judged exactly.
The hash is arithmetic that stays below 2**63, so that no engine overflows or has another opinion.

It is one row's work a thousand million times, so what is asked of it later is one bit of a number each (`FLAGS`).
"""

from brokertrial.checkers.relations.relation import Relation

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


FLAGS = ("named", "ok", "refused", "jumped", "chained", "irregular")
"""What is told of the records of a block: 1 if any of them is so."""
BIT = {name: 1 << place for place, name in enumerate(FLAGS)}
START = 2**33
"""Counts the chains: more than any sum of links that is the link of one offset."""


def _flags() -> str:
    """The flags of one record, as a number; its outcome is looked at once, and only if it was sent."""
    named, odd = BIT["named"], BIT["irregular"]
    return f"""(
        CASE WHEN r.value IS NULL THEN {odd} ELSE {named} END
        + CASE WHEN r.way = 1 THEN
                CASE WHEN r.value IS NULL OR (r.intact AND r.prev_offset < r.log_offset) THEN 0 ELSE {odd} END
                + CASE WHEN r.prev_offset IS NULL THEN 0
                       WHEN r.log_offset - 1 > r.prev_offset THEN {BIT["chained"] + BIT["jumped"]}
                       ELSE {BIT["chained"]} END
            WHEN r.value IS NULL THEN 0
            ELSE
                CASE r.outcome
                    WHEN 'ok' THEN {BIT["ok"]} + CASE WHEN r.way = 0 AND r.log_offset IS NOT NULL THEN 0 ELSE {odd} END
                    WHEN 'fail' THEN {BIT["refused"] + odd}
                    ELSE {odd} END
            END)"""


def _links(shift: int) -> str:
    """A record's part in the chain of its stream; for a chain, these add up to START and the link of its last."""
    return f"""CASE WHEN r.way <> 1 OR r.log_offset IS NULL THEN 0
            WHEN r.prev_offset >= ((r.log_offset >> {shift}) << {shift})
                THEN {link("r.log_offset")} - {link("r.prev_offset")}
            ELSE {link("r.log_offset")} + {START} END"""


def relations(shift: int = SHIFT) -> dict[str, Relation]:
    """The relations for blocks of 2**shift offsets; all but tests take the usual size."""
    line, first, second = _hash("r.log_offset", "r.value", shift)
    block = f"COALESCE(r.log_offset >> {shift}, -1)"
    told = ", ".join(f"(g.flags >> {place}) & 1 AS {name}" for place, name in enumerate(FLAGS))
    return {
        # What was sent to, and seen of, each block, by client and stream. Block -1: records without an offset.
        # irregular: a record that is not regular. links: START and the link of `high`, when the records are one chain.
        # No key of it is null, and the side is a number (way): for such keys Spark has a map that is twice as fast.
        "block_fingerprints": Relation(
            f"""
            SELECT g.history, g.topic, g.partition, g.block,
                CASE g.way WHEN 1 THEN 'seen' WHEN 0 THEN 'sent' ELSE '' END AS side, g.client,
                CASE WHEN g.way = 1 THEN g.stream END AS stream, g.records, {told}, g.high, g.links, g.mixed
            FROM (
                SELECT x.history, x.topic, x.partition, x.block, x.way, x.client, x.stream,
                    COUNT(*) AS records, BIT_OR(x.flags) AS flags,
                    MAX(x.log_offset) AS high, SUM(x.link) AS links, BIT_XOR(COALESCE(x.mix, 0)) AS mixed
                FROM (
                    SELECT x.*, {second} AS mix
                    FROM (
                        SELECT x.*, {first} AS half
                        FROM (
                            SELECT r.history, r.topic, r.partition, {block} AS block, r.way, r.client,
                                r.log_offset, {line} AS lin,
                                CASE WHEN r.way = 1 THEN COALESCE(r.stream, -1) ELSE -1 END AS stream,
                                {_flags()} AS flags, {_links(shift)} AS link
                            FROM (
                                SELECT r.*, CASE r.side WHEN 'seen' THEN 1 WHEN 'sent' THEN 0 ELSE 2 END AS way
                                FROM records r
                            ) r
                        ) x
                    ) x
                ) x
                GROUP BY x.history, x.topic, x.partition, x.block, x.way, x.client, x.stream
            ) g
            """,
            kept=True,
        ),
        # Blocks in which something may be wrong.
        "dirty": Relation(
            f"""
            SELECT b.history, b.topic, b.partition, b.block
            FROM (
                SELECT p.history, p.topic, p.partition, p.block, p.side,
                    SUM(p.records) AS records, BIT_XOR(p.mixed) AS mixed,
                    MAX(CASE WHEN p.irregular = 1 OR p.block < 0 THEN 1
                             WHEN p.side = 'seen' AND p.links <> {link("p.high")} + {START} THEN 1
                             ELSE 0 END) AS irregular
                FROM block_fingerprints p
                GROUP BY p.history, p.topic, p.partition, p.block, p.side,
                    CASE WHEN p.side = 'seen' THEN p.client END, p.stream
            ) b
            GROUP BY b.history, b.topic, b.partition, b.block
            HAVING MAX(b.irregular) = 1 OR MIN(b.side) = MAX(b.side) OR MIN(b.records) <> MAX(b.records)
                OR MIN(b.mixed) <> MAX(b.mixed)
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
        "records_to_check": Relation(
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
        "fingerprint_doubts": Relation("""
            SELECT h.history, COALESCE(MAX(CASE WHEN d.block IS NOT NULL THEN 1 ELSE 0 END), 0) AS unclean,
                COALESCE(MAX(j.jumped), 0) AS jumped
            FROM histories h
            LEFT JOIN (SELECT p.history, SUM(p.jumped) AS jumped FROM block_fingerprints p GROUP BY p.history) j
                ON j.history = h.history
            LEFT JOIN (SELECT DISTINCT x.history, 1 AS block FROM dirty x) d ON d.history = h.history
            GROUP BY h.history
            """),
    }


RELATIONS = relations()
