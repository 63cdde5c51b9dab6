"""What is left out of a search in the logs of a large history cannot matter: it finds the same rows in what is left."""

import pytest

from brokertrial.checkers.check import ROW, all_checks
from brokertrial.checkers.engines import duckdb_engine
from brokertrial.checkers.engines.duckdb_engine import DuckDBEngine
from brokertrial.checkers.engines.narrow import NARROWED, narrowed
from brokertrial.checkers.judge import judge
from brokertrial.checkers.relations import RELATIONS, suspicion
from brokertrial.histories.header import Header
from brokertrial.histories.reader import History
from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import Client, Operation
from tests.checkers.agreement import random_tales, relations
from tests.checkers.oracle.facts import Facts

SEARCHES = sorted(name for name, check in all_checks().items() if check.projections.keys() >= NARROWED)


def rows(check, engine):
    found = check.find({name: engine.table(query) for name, query in check.projections.items()})
    return sorted(repr([row.get(name) for name in ("history", "name", *ROW)]) for row in found)


def small_blocks(monkeypatch, shift, stretch=1):
    for name, relation in suspicion.relations(shift, stretch).items():
        monkeypatch.setitem(RELATIONS, name, relation)


@pytest.fixture(scope="module")
def tales():
    return random_tales(range(20_000, 20_150))


@pytest.mark.parametrize("shift", (0, 1, 5))
def test_the_same_rows_come_of_what_is_left(tales, shift, monkeypatch):
    small_blocks(monkeypatch, shift)
    with DuckDBEngine.over_tables(relations(tales)) as duck:
        for name in SEARCHES:
            check = all_checks()[name]
            expected = rows(check, duck)
            assert expected, "the random histories do not try this check"
            assert rows(narrowed(check), duck) == expected, name


def sequential(appends, late=None):
    """One append after the other; `late`: one that was called only after all that lies above it had returned."""
    operations = [Client(client="p", library="wire", acks=-1, idempotence=True)]
    for number in range(appends):
        call = 10 * number if number != late else 10 * appends + 50
        operations.append(Operation(op=number, client="p", kind="send", topic="t", partition=0, call_ns=call,
                                    return_ns=call + 5, outcome="ok", base_offset=number, count=1))  # fmt: skip
    return Facts(Header(case="c", target="t", nodes=1), operations)


def test_of_a_legal_log_nothing_is_left_and_of_another_little(monkeypatch):
    small_blocks(monkeypatch, 5)
    check = all_checks()["log-order"]
    with DuckDBEngine.over_tables(relations([sequential(5_000), sequential(5_000, late=4_000)])) as duck:
        near = narrowed(check)
        left = duck.table(near.projections["appends"])
        assert set(left.column("log").to_pylist()) == {2}
        assert left.num_rows < 1_100
        assert rows(near, duck) == rows(check, duck) != []


def at_once(*appends, end=None):
    """Appends (base, records) that all overlap in time; `end`: what a question for the end was told meanwhile."""
    operations = [Client(client="p", library="wire", acks=-1, idempotence=True)]
    for number, (base, records) in enumerate(appends):
        operations.append(Operation(op=number, client="p", kind="send", topic="t", partition=0, call_ns=number,
                                    return_ns=100, outcome="ok", base_offset=base, count=records))  # fmt: skip
    if end is not None:
        operations.append(Operation(op=99, client="p", kind="list_offsets", topic="t", partition=0, call_ns=50,
                                    return_ns=100, outcome="ok", high_watermark=end))  # fmt: skip
    return Facts(Header(case="c", target="t", nodes=1), operations)


@pytest.mark.parametrize(
    ("tale", "suspicious"),
    [
        (at_once((0, 1), (1, 3), (4, 1)), False),
        (at_once((0, 3), (2, 1)), True),
        (at_once((5, 1), (5, 1)), True),
        (at_once((30, 2), (32, 1), (33, 40)), False),
        (at_once((30, 3), (32, 1)), True),
        (at_once((60, 10), (69, 1)), True),
        (at_once((0, 4), end=4), False),
        (at_once((0, 4), end=2), True),
        (at_once((31, 4), end=33), True),
        (at_once((0, 40_000), (40_000, 1)), False),
        (at_once((0, 40_000), (39_999, 1), end=20_000), True),
    ],
)
def test_what_reaches_into_another_is_suspicious(tale, suspicious, monkeypatch):
    small_blocks(monkeypatch, 5)
    check = all_checks()["log-order"]
    with DuckDBEngine.over_tables(relations([tale])) as duck:
        assert bool(duck.ask("SELECT s.log FROM log_suspects s")) == suspicious
        assert rows(narrowed(check), duck) == rows(check, duck)


def test_a_large_history_is_searched_so_and_judged_the_same(tmp_path, monkeypatch):
    with Recorder.create(tmp_path / "history", Header(case="c", target="t", nodes=1)) as recorder:
        tale = sequential(5_000, late=4_000)
        for row in (*tale.rows("clients"), *tale.rows("operations")):
            recorder.add(row)
    history = History.open(tmp_path / "history")
    whole = judge(history)
    assert whole.totals == {"log-order": 1}
    monkeypatch.setattr(duckdb_engine, "SMALL_ROWS", 0)
    asked = []
    monkeypatch.setattr(duckdb_engine, "narrowed", lambda check: asked.append(check.name) or narrowed(check))
    assert judge(history) == whole
    assert "log-order" in asked
