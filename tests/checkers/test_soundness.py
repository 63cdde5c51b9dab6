"""Which histories are refused, by the same two questions on every engine."""

import pyarrow as pa
import pytest

from brokertrial.checkers.engines.duckdb_engine import DuckDBEngine
from brokertrial.checkers.relations import RELATIONS


def calls(*rows):
    """Operations as (history, op, topic, call, return)."""
    columns = dict(zip(("history", "op", "topic", "call_ns", "return_ns"), zip(*rows, strict=True), strict=True))
    kinds = (pa.int32(), pa.int64(), pa.string(), pa.int64(), pa.int64())
    table = pa.table(
        {name: pa.array(column, kind) for (name, column), kind in zip(columns.items(), kinds, strict=True)}
    )
    return {"operations": table.append_column("partition", pa.array([0] * len(rows), pa.int64()))}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([(0, 1, "t", 5, 9), (0, 2, "t", 5, None), (1, 1, "t", 5, 5)], {}),
        ([(0, 1, "t", 5, 9), (1, 1, "t", 9, 5), (1, 40, "t", 9, 8)], {1: "operation 1 returned before it was called"}),
        ([(0, 7, "t", 1, 2), (0, 7, "u", 1, 2), (0, 7, None, 1, 2)], {}),
        ([(0, 7, "t", 1, 2), (0, 7, "t", 1, 2), (1, 7, "t", 1, 2)], {0: "operation 7 is there twice"}),
        ([(0, 2**62, None, 1, 2), (0, 31, "t", 1, 2), (0, 2**62, None, 3, None)], {0: f"operation {2**62} is there"}),
        ([(0, number, "t", 1, 2) for number in range(200)] + [(0, 191, "t", 3, 4)], {0: "operation 191 is there"}),
        ([(0, number, "t", 1, 2) for number in range(200) if number != 7] + [(0, 9, "t", 3, 4)], {0: "operation 9 is"}),
        ([(0, number, "t", 1, 2) for number in range(0, 9000, 3)], {}),
    ],
)
def test_who_is_refused(rows, said):
    with DuckDBEngine.over_tables(calls(*rows)) as duck:
        assert duck.unsound.keys() == said.keys()
        assert all(duck.unsound[number].startswith(text) for number, text in said.items())


def test_of_a_sound_history_one_scan_leaves_nothing_to_look_at():
    assert RELATIONS["history_flags"].kept
    with DuckDBEngine.over_tables(calls(*[(0, number, "t", number, number + 3) for number in range(1000)])) as duck:
        assert duck.ask("SELECT s.block FROM history_flags s") == []


def test_of_gaps_and_of_calls_to_several_partitions_little_is_left_to_look_at():
    rows = [(0, number, "t", 1, 2) for number in range(0, 9000, 3)] + [(0, 3000, "u", 1, 2)]
    with DuckDBEngine.over_tables(calls(*rows)) as duck:
        assert duck.ask("SELECT s.block FROM repeated_values s") == [{"block": 3000 >> 5}]
        assert not duck.unsound
