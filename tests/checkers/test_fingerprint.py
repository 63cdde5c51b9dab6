"""The fingerprint hides nothing: with blocks so small that many are clean, every check says what the oracle says."""

from random import Random

import msgspec
import pytest

from brokertrial.checkers.check import all_checks
from brokertrial.checkers.engines.duckdb_engine import DuckDBEngine
from brokertrial.checkers.engines.fingerprint import settled
from brokertrial.checkers.relations import RELATIONS, blocks
from brokertrial.histories.header import Header
from brokertrial.histories.rows import Client, Record
from tests.checkers.agreement import compare, relations
from tests.checkers.evidence import oracles
from tests.checkers.oracle.facts import Facts
from tests.checkers.random_histories import random_history

MANY = 200
SMALL = (0, 1, 2)


def small_blocks(monkeypatch, shift):
    for name, relation in blocks.relations(shift).items():
        monkeypatch.setitem(RELATIONS, name, relation)


def mischief(rng, rows):
    """What no recorder of ours writes: streams that misremember, offsets without end."""
    for row in rows:
        if isinstance(row, Record) and row.side == "seen" and rng.random() < 0.15:
            row.prev_offset = rng.choice([None, -1, 0, 1, 2, 3])
        if isinstance(row, Record) and row.offset is not None and rng.random() < 0.02:
            row.offset += rng.choice([2**31, 2**40])
    return rows


@pytest.fixture(scope="module")
def crowd():
    tales = []
    for seed in range(MANY):
        header, rows = random_history(10_000 + seed)
        tales.append(Facts(header, mischief(Random(seed), rows) if seed % 2 else rows))
    return tales, relations(tales)


@pytest.mark.parametrize("shift", SMALL)
def test_what_is_clean_hides_nothing(crowd, shift, monkeypatch):
    tales, tables = crowd
    small_blocks(monkeypatch, shift)
    with DuckDBEngine.over_tables(tables) as duck:
        names = ("block_fingerprints", "dirty")
        prints, dirty = (duck.ask(f"SELECT COUNT(*) AS n FROM {name} x")[0]["n"] for name in names)
        assert dirty < prints
        for check in oracles():
            compare(check, tales, duck.ask(all_checks()[check].query))


@pytest.mark.parametrize("shift", SMALL)
def test_what_is_settled_has_no_anomaly(crowd, shift, monkeypatch):
    _, tables = crowd
    small_blocks(monkeypatch, shift)
    with DuckDBEngine.over_tables(tables) as duck:
        by_check = settled(duck.ask)
        for check, histories in by_check.items():
            guilty = {row["history"] for row in duck.ask(all_checks()[check].query)}
            assert not guilty & histories, check
        assert all(by_check.values()), "no history was settled"


def legal(records, *, streams=1):
    rows = [Client(client="p", library="wire", acks=-1, idempotence=True), Client(client="r", library="wire")]
    for offset in range(records):
        rows.append(Record(op=offset, client="p", topic="t", partition=0, offset=offset, value=7 * offset, side="sent",
                           position=offset, outcome="ok"))  # fmt: skip
        rows += [Record(op=records, client="r", topic="t", partition=0, offset=offset, value=7 * offset, side="seen",
                        stream=stream, position=offset, prev_offset=offset - 1, outcome="ok")
                 for stream in range(streams)]  # fmt: skip
    return rows


def dirty_blocks(rows):
    with DuckDBEngine.over_tables(relations([Facts(Header(case="c", target="t", nodes=1), rows)])) as duck:
        return [row["block"] for row in duck.ask("SELECT d.block FROM dirty d ORDER BY d.block")]


def seen(rows, offset):
    return next(row for row in rows if isinstance(row, Record) and row.side == "seen" and row.offset == offset)


def swap(rows):
    one, two = seen(rows, 5_000), seen(rows, 5_001)
    one.value, two.value = two.value, one.value


def repeat(rows):
    rows.append(seen(rows, 5_000))


def reuse(rows):
    """Another value, acknowledged at the same offset and read there too, by streams that each sought it anew."""
    for row in [row for row in rows if isinstance(row, Record) and row.offset == 5_000]:
        rows.append(msgspec.structs.replace(row, value=-5))


def cancel(rows):
    """A record acknowledged three times at one offset, its neighbour read three times: count and xor are the same."""
    sent = next(row for row in rows if isinstance(row, Record) and row.side == "sent" and row.offset == 5_000)
    rows += [sent, sent]
    rows += [row for row in rows if isinstance(row, Record) and row.side == "seen" and row.offset == 5_001] * 2


DAMAGE = {
    "nothing": (lambda rows: None, []),
    "two values change places": (swap, [1]),
    "a record is not read": (lambda rows: rows.remove(seen(rows, 5_000)), [1]),
    "a record is read twice": (repeat, [1]),
    "two values at one offset": (reuse, [1]),
    "count and xor stay the same": (cancel, [1]),
    "another value is read": (lambda rows: setattr(seen(rows, 5_000), "value", -1), [1]),
    "a record is damaged": (lambda rows: setattr(seen(rows, 9_000), "intact", False), [2]),
    "a stream went back": (lambda rows: setattr(seen(rows, 9_000), "prev_offset", 9_000), [2]),
    "an offset was never learnt": (lambda rows: setattr(rows[2], "offset", None), [-1, 0]),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_only_the_damaged_block_is_dirty(name):
    change, expected = DAMAGE[name]
    rows = legal(10_000, streams=2)
    change(rows)
    assert dirty_blocks(rows) == expected


def test_the_hash_is_as_good_as_chance():
    """Neighbouring values and offsets fill 32 bits of it like dice; all 62 bits tell a million of them apart."""
    with DuckDBEngine.over_tables({}) as duck:
        line, half, whole = blocks._hash("i.o", "i.v", 12)
        query = f"""
            SELECT x.*, {whole} AS mix FROM (
                SELECT x.*, {half} AS half FROM (
                    SELECT i.o, i.v, {line} AS lin FROM (
                        SELECT n.range % 4096 AS o, n.range AS v FROM range(1000000) n
                        UNION ALL SELECT 7, (n.range - 500000) * 4294967296 FROM range(1000000) n
                    ) i
                ) x
            ) x
            """  # fmt: skip
        told_apart, bits = duck._connection.execute(
            f"SELECT COUNT(DISTINCT m.mix), COUNT(DISTINCT (m.mix >> 16) & 2147483647) FROM ({query}) m"
        ).fetchone()
    assert told_apart == 2_000_000
    assert abs(bits - 2_000_000 * (1 - 2_000_000 / 2**32)) < 150
