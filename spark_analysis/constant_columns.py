"""Columns that hold one value all through a file: its footer says so, and no row of it need be read for that.

Spark makes a new string of every name that it reads, row by row, and compares it byte by byte: for a question of a
thousand million rows that is half of the work. A part of the records mostly holds one topic, one side and one outcome,
and the columns of the other side are null in all of it. With such a value as a literal, what a query asks of it is
settled when the query is planned; a branch of which nothing is wanted is not even opened.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

import pyarrow.parquet as pq

from brokertrial.histories.reader import History
from brokertrial.histories.tables import schema_of
from brokertrial.spark_analysis.remote_history import Elsewhere, files_of

Constants = Mapping[str, str | bool | None]


@dataclass(frozen=True, slots=True)
class Piece:
    """Files of one table, and the columns of which all rows of all these files hold the same."""

    files: Sequence[str]
    constants: Constants = field(default_factory=dict)


def pieces_of(history: History, table: str, most: int) -> list[Piece]:
    """The files of a table in at most so many pieces; one without constants for files that are not on this machine."""
    files = files_of(history, table)
    if isinstance(history, Elsewhere):
        return [Piece(files)]
    constants = [constants_of(file, table) for file in history.parts(table)]
    names = _telling(constants, most)
    pieces: dict[frozenset[tuple[str, str | bool | None]], list[str]] = {}
    for file, held in zip(files, constants, strict=True):
        pieces.setdefault(_of(held, names), []).append(file)
    return [Piece(within, dict(held)) for held, within in pieces.items()]


def constants_of(file: Path, table: str) -> Constants:
    """The strings, the truth values and the nulls that all rows of a file hold, by column.

    Other numbers are left out: they are quickly read, and would make a piece of every file.
    """
    with pq.ParquetFile(file) as part:
        footer = part.metadata
    places = {footer.schema.column(number).path: number for number in range(footer.num_columns)}
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    found: dict[str, str | bool | None] = {}
    for name in (name for name in schema_of(table).names if name in places):
        held = {_constant(group, places[name]) for group in groups}
        if len(held) == 1 and not isinstance(value := held.pop(), Mixed):
            found[name] = value
    return found


class Mixed(Enum):
    """What is said of a column whose rows differ, or may differ."""

    MIXED = 0


def _constant(group: pq.RowGroupMetaData, column: int) -> str | bool | Mixed | None:
    """What all rows of a row group hold in a column."""
    told = group.column(column).statistics
    if told is None or not told.has_null_count:
        return Mixed.MIXED
    if told.null_count == group.num_rows:
        return None
    alike = not told.null_count and told.has_min_max and told.min == told.max
    return told.min if alike and isinstance(told.min, str | bool) else Mixed.MIXED


def _of(constants: Constants, names: Collection[str]) -> frozenset[tuple[str, str | bool | None]]:
    return frozenset((name, value) for name, value in constants.items() if name in names)


def _telling(constants: Sequence[Constants], most: int) -> frozenset[str]:
    """The columns by which files fall into at most so many pieces."""

    def pieces(names: frozenset[str]) -> int:
        return len({_of(held, names) for held in constants})

    names = frozenset[str]().union(*constants)
    while pieces(names) > most:
        names = min((names - {name} for name in sorted(names)), key=pieces)
    return names
