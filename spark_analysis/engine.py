"""Spark as the engine: the same base relations and the same SQL as DuckDB's (checkers/engines/duckdb_engine.py)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from brokertrial.checkers.check import Check
from brokertrial.checkers.engines.base import Engine, titles, topics
from brokertrial.checkers.engines.fingerprint import SETTLED, settled
from brokertrial.checkers.engines.narrow import narrowed
from brokertrial.checkers.relations import BASES, RELATIONS, named_in
from brokertrial.histories.reader import History
from brokertrial.histories.rows import TABLES
from brokertrial.spark_analysis.caching import kept
from brokertrial.spark_analysis.canaries import PlantedAnomaly
from brokertrial.spark_analysis.session import fit, open_session
from brokertrial.spark_analysis.tables import frame_of, rows_in, table_of

_NUMBERS = itertools.count(1)


class Spark(Engine):
    """Histories opened for questions on Spark. `history` in every relation is the place of the history in the list."""

    def __init__(self, session: SparkSession) -> None:
        """Use `Spark.over`."""
        self._session = session
        for place in ("callSite.short", "callSite.long"):  # or each step of each query looks through the stack for it
            session.sparkContext.setLocalProperty(place, "brokertrial")
        self._made: set[str] = set(BASES)
        self._kept: list[DataFrame] = []
        self._settled: Mapping[str, frozenset[int]] | None = None

    @classmethod
    def over(cls, histories: Sequence[History], master: str = "local[*]", **settings: str) -> Self:
        """Opens histories; nothing is read before the first question."""
        session = open_session(master, **settings)
        fit(session, rows_in(histories), settings)
        return cls.on(session, histories)

    @classmethod
    def on(cls, session: SparkSession, histories: Sequence[History], planted: PlantedAnomaly | None = None) -> Self:
        """Opens histories on a session that runs, and beside them those that were planted."""
        spark = cls(session)
        for table in (table for table in TABLES if table in BASES):
            folder = planted.folder if planted else ""
            table_of(session, table, histories, folder, spark._keep).createOrReplaceTempView(table)
        everything = [*histories, *(planted.histories if planted else ())]
        spark._show("histories", titles(everything))
        spark._show("topics", topics(everything))
        return spark

    @classmethod
    def over_tables(cls, tables: Mapping[str, pa.Table], master: str = "local[*]", **settings: str) -> Self:
        """Opens the base relations themselves, as Arrow columns under their shared names."""
        spark = cls(open_session(master, **settings))
        for name, table in tables.items():
            spark._show(name, table)
        return spark

    def ask(self, query: str) -> list[dict[str, Any]]:
        """The rows of a query, as dicts."""
        self._make_what_it_names(query)
        with self._to_the_end():
            return [row.asDict() for row in self._session.sql(query).collect()]

    def table(self, query: str) -> pa.Table:
        """The rows of a query, as Arrow columns."""
        self._make_what_it_names(query)
        with self._to_the_end():
            return self._session.sql(query).toArrow()

    def prepared(self, check: Check) -> Check:
        """The check; one about logs asks for what lies around suspicious operations alone."""
        return narrowed(check)

    def settled(self, check: str) -> frozenset[int]:
        """Histories of which the fingerprint says that this check finds nothing."""
        if check not in SETTLED:
            return frozenset()
        if self._settled is None:
            self._settled = settled(self.ask)
        return self._settled[check]

    def close(self) -> None:
        """Forgets everything; the session stays for whoever opens the next."""
        for frame in self._kept:
            frame.unpersist()
        for name in self._made:
            self._session.catalog.dropTempView(name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    def _show(self, name: str, table: pa.Table) -> None:
        frame = frame_of(self._session, table)
        (self._keep(frame) if table.num_rows else frame).createOrReplaceTempView(name)

    def _keep(self, frame: DataFrame) -> DataFrame:
        """What `kept` makes of it, until the engine is closed."""
        self._kept.append(frame)
        with self._to_the_end():
            return kept(self._session, frame)

    @contextmanager
    def _to_the_end(self) -> Iterator[None]:
        """Ends what still runs for an answer that is there: half of a join whose other half turned out to be empty."""
        group = f"brokertrial {next(_NUMBERS)}"
        self._session.sparkContext.setJobGroup(group, "brokertrial")
        try:
            yield
        finally:
            self._session.sparkContext.cancelJobGroup(group)

    def _make_what_it_names(self, query: str) -> None:
        for name in named_in(query):
            if name in self._made:
                continue
            relation = RELATIONS[name]
            self._make_what_it_names(relation.query)
            frame = self._session.sql(relation.query)
            (self._keep(frame) if relation.kept else frame).createOrReplaceTempView(name)
            self._made.add(name)
