"""Many wounded histories as the tables of one query: legal ones are made into columns once, wounds are patches."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from brokertrial.checkers.check import AnomalyRow, Check
from brokertrial.checkers.engines.base import titles, topics
from brokertrial.checkers.engines.duckdb_engine import DuckDBEngine
from brokertrial.checkers.relations import BASES, RENAMED
from brokertrial.histories.rows import TABLES
from brokertrial.histories.tables import columns_of
from tests.checkers.wounds import Expected, Wound

SHARED = [table for table in TABLES if table in BASES]


class Base:
    """A legal history, as columns."""

    def __init__(self, legal: Any) -> None:
        self.legal = legal
        self.header = legal.header
        rows = {table: [row for row in legal.rows if type(row) is TABLES[table]] for table in SHARED}
        self.columns = {table: columns_of(table, rows[table]) for table in SHARED}
        self.numbers = {id(row): (table, number) for table in SHARED for number, row in enumerate(rows[table])}
        self._events = rows["events"]

    def rows(self, table: str) -> list[Any]:
        """The events, for what engines read of them; wounds change no topic."""
        return self._events if table == "events" else []

    def wounded(self, wound: Wound | None, table: str) -> pa.Table:
        """A table of it with a wound."""
        found = self.columns[table]
        if wound is None:
            return found
        gone = [number for where, number in map(self.numbers.__getitem__, wound.dropped) if where == table]
        if gone:
            kept = np.ones(found.num_rows, dtype=bool)
            kept[gone] = False
            found = found.filter(pa.array(kept))
        new = [row for row in wound.added if type(row) is TABLES[table] and id(row) not in wound.dropped]
        return pa.concat_tables([found, columns_of(table, new)]) if new else found


def relations(bases: Sequence[Base], wounds: Sequence[Wound | None]) -> dict[str, pa.Table]:
    """The base relations of all of them, as an engine makes them from files."""
    made = {"histories": titles(bases), "topics": topics(bases)}  # type: ignore[arg-type]
    for table in SHARED:
        parts = []
        for number, (base, wound) in enumerate(zip(bases, wounds, strict=True)):
            columns = base.wounded(wound, table)
            columns = columns.rename_columns([RENAMED.get(name, name) for name in columns.column_names])
            history = pa.repeat(pa.scalar(number, pa.int32()), columns.num_rows)
            parts.append(columns.add_column(0, "history", history))
        made[table] = pa.concat_tables(parts)
    return made


def asked(duck: DuckDBEngine, check: Check) -> list[AnomalyRow]:
    """What a check finds."""
    if check.find is not None:
        return list(check.find({name: duck.table(query) for name, query in check.projections.items()}))
    return duck.ask(check.query or "")


def held(rows: Sequence[AnomalyRow]) -> list[AnomalyRow]:
    """What is held against the broker of it."""
    return [row for row in rows if row.get("judged", 1)]


def found(rows: Sequence[AnomalyRow], number: int, expected: Expected) -> bool:
    """Whether history `number` shows what was put into it, where it was put."""
    return any(
        row["history"] == number
        and row.get("judged", 1) == expected.judged
        and (row.get("name") or expected.check) in expected.name.split()
        and (row["topic"], row["partition"]) == (expected.topic, expected.partition)
        and all(row[column] == value for column, value in expected.columns.items())
        for row in rows
    )
