"""Random small histories as tables, and a query's rows on them held against the naive definition."""

from collections.abc import Iterable

import pyarrow as pa

from brokertrial.checkers.check import ROW
from brokertrial.checkers.engines.base import titles, topics
from brokertrial.checkers.relations import BASES, RENAMED
from brokertrial.histories.rows import TABLES
from brokertrial.histories.tables import columns_of, schema_of
from tests.checkers.evidence import oracles
from tests.checkers.oracle.facts import Facts
from tests.checkers.random_histories import random_history

COLUMNS = ("name", *ROW, "attribution", "fault")


def random_tales(seeds: Iterable[int]) -> list[Facts]:
    """One random history a seed."""
    return [Facts(*random_history(seed)) for seed in seeds]


def relations(tales):
    """The base relations of many histories, as an engine makes them from files."""
    made = {"histories": titles(tales), "topics": topics(tales)}
    for table in TABLES:
        if table in BASES:
            made[table] = pa.concat_tables([_columns(table, number, tale) for number, tale in enumerate(tales)])
    return made


def _columns(table, number, tale):
    rows = tale.rows(table)
    columns = columns_of(table, rows) if rows else schema_of(table).empty_table()
    columns = columns.rename_columns([RENAMED.get(name, name) for name in columns.column_names])
    return columns.add_column(0, "history", pa.array([number] * len(rows), pa.int32()))


def answers(rows):
    return {tuple(row.get(name) for name in COLUMNS) for row in rows}


def compare(check, tales, asked):
    for number, tale in enumerate(tales):
        expected = answers(oracles()[check](tale))
        found = answers(row for row in asked if row["history"] == number)
        assert found == expected, f"history {number}: query {found - expected}, oracle {expected - found}"
