"""Which shared relations a query reads from: a column that is called like one is none."""

from brokertrial.checkers.engines.duckdb_engine import DuckDBEngine
from brokertrial.checkers.relations import RELATIONS, named_in
from brokertrial.checkers.relations.relation import Relation

EVERYTHING = ("SELECT * FROM ends", "SELECT e.x FROM logs l\n JOIN ends e ON l.a = e.a")


def test_a_relation_is_named_by_from_and_join():
    assert [named_in(query) for query in EVERYTHING] == [["ends"], ["ends", "logs"]]


def test_a_column_that_is_called_like_a_relation_is_none():
    assert named_in("SELECT MAX(x.a) AS ends, x.logs FROM records_of_nobody x WHERE x.b = 'appends'") == []
    assert "ends" not in named_in(RELATIONS["log_doubts"].query)


def test_a_relation_with_a_column_of_its_own_name_is_made_once(monkeypatch):
    monkeypatch.setitem(RELATIONS, "echo", Relation("SELECT 1 AS echo"))
    with DuckDBEngine() as duck:
        assert duck.ask("SELECT echo.echo FROM echo") == [{"echo": 1}]
