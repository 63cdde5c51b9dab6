"""Spark as the engine: the same base relations and the same SQL as DuckDB's (checkers/duck.py)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import reduce
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from checkers.check import Check
from checkers.engine import titles, topics
from checkers.fingerprint import SETTLED, settled
from checkers.relations import BASES, RELATIONS, RENAMED
from histories.reader import History
from histories.rows import TABLES
from histories.tables import schema_of
from spark_analysis.session import open_session

_TYPES = {pa.int64(): "bigint", pa.int32(): "int", pa.bool_(): "boolean", pa.string(): "string", pa.binary(): "binary"}
_LITERAL = re.compile(r"'[^']*'")
_WORD = re.compile(r"\b[a-z_]+\b")


class Spark:
    """Histories opened for questions on Spark. `history` in every relation is the place of the history in the list."""

    def __init__(self, session: SparkSession) -> None:
        """Use `Spark.over`."""
        self._session = session
        self._made: set[str] = set(BASES)
        self._kept: list[DataFrame] = []
        self._settled: Mapping[str, frozenset[int]] | None = None

    @classmethod
    def over(cls, histories: Sequence[History], master: str = "local[*]", **settings: str) -> Self:
        """Opens histories; nothing is read before the first question."""
        spark = cls(open_session(master, **settings))
        for table in (table for table in TABLES if table in BASES):
            frames = [spark._read(table, number, history) for number, history in enumerate(histories)]
            reduce(DataFrame.unionByName, frames).createOrReplaceTempView(table)
        spark._show("histories", titles(histories))
        spark._show("topics", topics(histories))
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
        return [row.asDict() for row in self._session.sql(query).collect()]

    def table(self, query: str) -> pa.Table:
        """The rows of a query, as Arrow columns."""
        self._make_what_it_names(query)
        return self._session.sql(query).toArrow()

    def prepared(self, check: Check) -> Check:
        """The check as it is."""
        return check

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

    def _read(self, table: str, number: int, history: History) -> DataFrame:
        """One history's table under the shared names; a column or a table that it lacks is null, or empty."""
        schema = schema_of(table)
        wanted = ", ".join(f"`{field.name}` {_TYPES[field.type]}" for field in schema)
        files = [str(file) for file in history.parts(table)]
        reader = self._session.read.schema(wanted)
        frame = reader.parquet(*files) if files else self._session.createDataFrame([], wanted)
        columns = [f.col(f"`{field.name}`").alias(RENAMED.get(field.name, field.name)) for field in schema]
        return frame.select(f.lit(number).alias("history"), *columns)

    def _show(self, name: str, table: pa.Table) -> None:
        schema = ", ".join(f"`{field.name}` {_TYPES[field.type]}" for field in table.schema)
        rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        self._session.createDataFrame(rows, schema).createOrReplaceTempView(name)

    def _make_what_it_names(self, query: str) -> None:
        named = RELATIONS.keys() & set(_WORD.findall(_LITERAL.sub("", query)))
        for name in sorted(named - self._made):
            relation = RELATIONS[name]
            self._make_what_it_names(relation.query)
            frame = self._session.sql(relation.query)
            if relation.kept:
                self._kept.append(frame.persist())
            frame.createOrReplaceTempView(name)
            self._made.add(name)
