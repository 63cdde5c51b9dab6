"""DuckDB as the engine: the tables of one or more histories, the shared relations, and any query over them."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import duckdb
import pyarrow as pa

from brokertrial.checkers.check import Check
from brokertrial.checkers.engines.base import Engine, titles, topics
from brokertrial.checkers.engines.fingerprint import SETTLED, settled
from brokertrial.checkers.engines.narrow import narrowed
from brokertrial.checkers.relations import BASES, RELATIONS, RENAMED, named_in
from brokertrial.histories.reader import History
from brokertrial.histories.rows import TABLES
from brokertrial.histories.tables import schema_of
from brokertrial.histories.tempdirs import Scratch

_SQL_TYPES = {pa.int64(): "BIGINT", pa.bool_(): "BOOLEAN", pa.string(): "VARCHAR", pa.binary(): "BLOB"}
SMALL_ROWS = 200_000
"""Below this, planning costs more than reading: the tables are read once, one thread does all, and a search in logs has
all of them in memory."""


class DuckDBEngine(Engine):
    """Histories opened for questions. `history` in every relation is the place of the history in the list."""

    def __init__(self) -> None:
        """Use `DuckDBEngine.over`."""
        self._spill = Scratch("spill")
        self._connection = duckdb.connect(":memory:")
        self._connection.execute(f"SET temp_directory = '{self._spill.name}'")
        self._connection.execute("SET preserve_insertion_order = false")
        self._connection.execute("SET enable_progress_bar = false")  # DuckDB draws it where our answers go: on stdout
        self._made: set[str] = set(BASES)
        self._settled: Mapping[str, frozenset[int]] | None = None
        self._large = False

    @classmethod
    def over(cls, histories: Sequence[History]) -> Self:
        """Opens histories; nothing is read before the first question."""
        duck = cls()
        rows = sum(history.count(table) for history in histories for table in BASES if table in TABLES)
        duck._large = rows >= SMALL_ROWS
        if not duck._large:
            duck._connection.execute("SET threads = 1")
        for table in TABLES:
            if table in BASES:
                kind = "VIEW" if duck._large else "TEMP TABLE"
                duck._connection.execute(f"CREATE {kind} {table} AS {_union(table, histories)}")
        duck._connection.register("histories", titles(histories))
        duck._connection.register("topics", topics(histories))
        return duck

    @classmethod
    def over_tables(cls, tables: Mapping[str, pa.Table]) -> Self:
        """Opens the base relations themselves, as Arrow columns under their shared names."""
        duck = cls()
        for name, table in tables.items():
            duck._connection.register(name, table)
        return duck

    def ask(self, query: str) -> list[dict[str, Any]]:
        """The rows of a query, as dicts."""
        self._make_what_it_names(query)
        answer = self._connection.execute(query)
        names = [column[0] for column in answer.description or ()]
        return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]

    def table(self, query: str) -> pa.Table:
        """The rows of a query, as Arrow columns."""
        self._make_what_it_names(query)
        return self._connection.sql(query).to_arrow_table()

    def prepared(self, check: Check) -> Check:
        """The check as it is; in a large history, one about logs asks for what lies around suspicious operations."""
        return narrowed(check) if self._large else check

    def settled(self, check: str) -> frozenset[int]:
        """Histories of which the fingerprint says that this check finds nothing."""
        if check not in SETTLED:
            return frozenset()
        if self._settled is None:
            self._settled = settled(self.ask)
        return self._settled[check]

    def close(self) -> None:
        """Forgets everything."""
        self._connection.close()
        self._spill.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    def _make_what_it_names(self, query: str) -> None:
        for name in named_in(query):
            if name in self._made:
                continue
            self._make_what_it_names(RELATIONS[name].query)
            kind = "TEMP TABLE" if RELATIONS[name].kept else "TEMP VIEW"
            self._connection.execute(f"CREATE {kind} {name} AS {RELATIONS[name].query}")
            self._made.add(name)


def _union(table: str, histories: Sequence[History]) -> str:
    return " UNION ALL ".join(_select(table, number, history) for number, history in enumerate(histories))


def _select(table: str, number: int, history: History) -> str:
    """One history's table under the shared names; a column that it lacks is null, a table that it lacks is empty."""
    present = history.columns(table)
    columns = [f"{number} AS history"]
    for field in schema_of(table):
        source = f'"{field.name}"' if field.name in present else "NULL"
        columns.append(f'CAST({source} AS {_SQL_TYPES[field.type]}) AS "{RENAMED.get(field.name, field.name)}"')
    files = ", ".join("'" + str(file).replace("'", "''") + "'" for file in history.parts(table))
    source = f"FROM read_parquet([{files}])" if files else "WHERE FALSE"
    return f"SELECT {', '.join(columns)} {source}"
