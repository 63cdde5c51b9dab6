"""Histories with known anomalies, judged in the same job: a check that misses one did not really run.

A column that is read as null, a name in the wrong quotes, an engine that does nothing: each would let everything pass.
The canaries (canaries.json: random small histories, chosen by bench/canaries.py so that every check finds something)
are written as Parquet where the results go, for as long as the job runs; they are read back like the histories on
trial, and must yield the rows that DuckDB finds in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.engines.base import titles, topics
from brokertrial.checkers.engines.duckdb_engine import DuckDBEngine
from brokertrial.checkers.judge import Judgement, judge_on
from brokertrial.checkers.relations import BASES, RENAMED
from brokertrial.histories.header import Header, Title
from brokertrial.histories.reader import History
from brokertrial.histories.rows import TABLES, Row
from brokertrial.histories.tables import columns_of, schema_of
from brokertrial.spark_analysis.remote_history import Files
from brokertrial.spark_analysis.tables import gathered

FILE = Path(__file__).with_name("canaries.json")


class StoredCanary(msgspec.Struct, kw_only=True):
    """One canary as the file holds it."""

    header: Header
    tables: dict[str, list[dict[str, Any]]]


class Canary(History):
    """A small history that never was on a disk."""

    def __init__(self, stored: StoredCanary) -> None:
        """All columns are there, null where the file does not name them."""
        title = Title(identity="canary", clock="none", started_ns=0, started_at="", header=stored.header, complete=True)
        super().__init__(Path(stored.header.case), title, {table: [Path(table)] for table in TABLES})
        self._rows = {table: [TABLES[table](**row) for row in stored.tables.get(table, [])] for table in TABLES}

    def count(self, table: str) -> int:
        """How many rows a table has."""
        return len(self._rows[table])

    def columns(self, table: str) -> frozenset[str]:
        """All of them."""
        return frozenset(schema_of(table).names)

    def arrow(self, table: str) -> pa.Table:
        """The table in memory."""
        return columns_of(table, self._rows[table]) if self._rows[table] else schema_of(table).empty_table()

    def rows(self, table: str) -> Iterator[Row]:
        """The rows of a table."""
        return iter(self._rows[table])


@dataclass(frozen=True)
class PlantedAnomaly:
    """The canaries of a job: where their tables are, and the first of their numbers."""

    folder: str
    first: int
    histories: tuple[Canary, ...]


@cache
def canaries() -> tuple[Canary, ...]:
    """All of them."""
    return tuple(Canary(stored) for stored in msgspec.json.decode(FILE.read_bytes(), type=list[StoredCanary]))


@contextmanager
def planted(session: SparkSession, folder: str, first: int) -> Iterator[PlantedAnomaly]:
    """The tables of the canaries, numbered from `first`, where the executors can read them; deleted at the end."""
    all_of_them, files = PlantedAnomaly(folder, first, canaries()), Files(session)
    numbered = list(enumerate(all_of_them.histories, start=first))
    try:
        for table in (table for table in TABLES if table in BASES):
            content = pa.BufferOutputStream()
            pq.write_table(gathered(table, numbered), content)
            files.write(f"{folder}/{table}/00001.parquet", content.getvalue().to_pybytes())
        yield all_of_them
    finally:
        files.delete(folder)


@dataclass(frozen=True)
class CanaryResult:
    """What the canaries say: checks that found theirs, checks that nothing was planted for, and what went wrong."""

    proven: tuple[str, ...]
    unproven: tuple[str, ...]
    wrong: tuple[str, ...]


def proof(found: Mapping[str, Sequence[Judgement]]) -> CanaryResult:
    """Compares what each check of a job found in the canaries with what DuckDB finds in them."""
    expected = judged(canaries(), found)
    proven: list[str] = []
    unproven: list[str] = []
    wrong: list[str] = []
    for check in sorted(found):
        same = [_of(each) for each in found[check]] == [_of(each) for each in expected[check]]
        planted = any(each.anomalies or each.permitted for each in expected[check])
        (wrong if not same else proven if planted else unproven).append(check)
    return CanaryResult(tuple(proven), tuple(unproven), tuple(wrong))


def judged(histories: Sequence[Canary], checks: Iterable[str]) -> dict[str, list[Judgement]]:
    """What each check finds in them on DuckDB."""
    tables = {"histories": titles(histories), "topics": topics(histories)}
    for name in (name for name in TABLES if name in BASES):
        table = gathered(name, list(enumerate(histories)))
        tables[name] = table.rename_columns([RENAMED.get(column, column) for column in table.column_names])
    with DuckDBEngine.over_tables(tables) as duck:
        return {check: judge_on(duck, histories, [check]) for check in checks}


def _of(judgement: Judgement) -> tuple[object, ...]:
    listed = frozenset(_place(anomaly) for anomaly in judgement.anomalies)
    permitted = frozenset(_place(anomaly) for anomaly in judgement.permitted)
    return judgement.totals, listed, permitted, judgement.judged, set(judgement.inconclusive)


def _place(anomaly: Anomaly) -> tuple[object, ...]:
    return (anomaly.name, anomaly.topic, anomaly.partition, anomaly.offsets, anomaly.values, anomaly.operations)
