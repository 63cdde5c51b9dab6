"""A producer's order is looked at in blocks of its sends, and the same pairs come of it."""

import pytest

from brokertrial.checkers.check import all_checks
from brokertrial.checkers.engines.duckdb_engine import DuckDBEngine
from brokertrial.checkers.relations import RELATIONS, lanes
from brokertrial.histories.header import Header
from brokertrial.histories.rows import Client, Operation, Record
from tests.checkers.agreement import compare, random_tales, relations
from tests.checkers.oracle.facts import Facts

BLOCK = 1 << lanes.SHIFT


@pytest.fixture(scope="module")
def tales():
    return random_tales(range(30_000, 30_100))


@pytest.mark.parametrize("shift", (0, 1, 2))
def test_the_size_of_a_block_makes_no_difference(tales, shift, monkeypatch):
    for name, relation in lanes.relations(shift).items():
        monkeypatch.setitem(RELATIONS, name, relation)
    with DuckDBEngine.over_tables(relations(tales)) as duck:
        rows = duck.ask(all_checks()["nonmonotonic-send"].query)
    compare("nonmonotonic-send", tales, rows)
    assert len({row["history"] for row in rows}) > 5


def one_producer(offsets):
    """Everything that one producer sent to one partition: the offset of each send."""
    rows = [Client(client="p", library="wire", acks=-1, idempotence=True)]
    for place, offset in enumerate(offsets):
        rows.append(Operation(op=place, client="p", kind="send", topic="t", partition=0, call_ns=place,
                              return_ns=place + 1, outcome="ok", base_offset=offset, count=1))  # fmt: skip
        rows.append(Record(op=place, client="p", topic="t", partition=0, offset=offset, value=place, side="sent",
                           position=place, outcome="ok"))  # fmt: skip
    return Facts(Header(case="c", target="t", nodes=1), rows)


def swapped(*pairs):
    offsets = list(range(3 * BLOCK))
    for one, other in pairs:
        offsets[one], offsets[other] = offsets[other], offsets[one]
    return one_producer(offsets)


@pytest.mark.parametrize(
    ("tale", "blocks", "pairs"),
    [
        (swapped(), 0, []),
        (swapped((10, 11)), 1, [(10, 11)]),
        (swapped((BLOCK - 1, BLOCK)), 2, [(BLOCK - 1, BLOCK)]),
        (swapped((5, 6), (2 * BLOCK + 7, 2 * BLOCK + 8)), 2, [(5, 6), (2 * BLOCK + 7, 2 * BLOCK + 8)]),
        (swapped((BLOCK, 2 * BLOCK)), 2, [(BLOCK, BLOCK + 1), (2 * BLOCK - 1, 2 * BLOCK)]),
    ],
    ids=("in order", "inside a block", "between two", "far apart", "far from their places"),
)
def test_only_blocks_with_something_out_of_order_are_looked_at(tale, blocks, pairs):
    with DuckDBEngine.over_tables(relations([tale])) as duck:
        assert len(duck.ask("SELECT d.lane, d.block FROM disordered d")) == blocks
        rows = duck.ask(all_checks()["nonmonotonic-send"].query)
    assert sorted((row["op_a"], row["op_b"]) for row in rows) == pairs
    assert all(row["offset_a"] > row["offset_b"] for row in rows)
