"""The longest time without an acknowledgement, in more slots than one stretch of them holds."""

import itertools
import random

import pyarrow as pa
import pytest

from brokertrial.checkers.engines.duckdb_engine import DuckDBEngine

COUNT = 40_000


def operations(times):
    rows = len(times)
    columns = {
        "history": [0] * rows,
        "op": list(range(rows)),
        "call_ns": times,
        "return_ns": times,
        "partition": [0] * rows,
    }
    words = {"client": "p", "kind": "send", "topic": "t", "outcome": "ok", "group_id": None}
    table = pa.table({name: pa.array(values, pa.int64()) for name, values in columns.items()})
    for name, word in words.items():
        table = table.append_column(name, pa.array([word] * rows, pa.string()))
    return table.append_column("txn", pa.nulls(rows, pa.int64()))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("pause", (0, 40_000, 20_000_000), ids=("none", "in a stretch", "longer than a stretch"))
def test_as_one_who_sorts_them_all(seed, pause):
    dice, at, times = random.Random(seed), 0, []
    for number in range(COUNT):
        at += 1 + int(dice.expovariate(1) * 1_000) + pause * (number == COUNT // 3)
        times.append(at)
    gaps = [(after - before, after) for before, after in itertools.pairwise(times)]
    longest = max(gap for gap, _ in gaps)
    with DuckDBEngine.over_tables({"operations": operations(times)}) as duck:
        found = duck.ask("SELECT p.at_ns - p.before_ns AS gap, p.at_ns FROM longest_pauses p")
        assert duck.ask("SELECT COUNT(*) AS slots FROM slots s")[0]["slots"] > 3 * 1_024
    assert {(row["gap"], row["at_ns"]) for row in found} == {each for each in gaps if each[0] == longest}
