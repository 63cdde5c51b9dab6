"""The tables of many histories as one table each: small ones sent by the driver, large ones read where they lie."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from brokertrial.checkers.relations import RENAMED
from brokertrial.histories.reader import History
from brokertrial.histories.rows import TABLES
from brokertrial.histories.tables import schema_of
from brokertrial.spark_analysis.caching import nothing
from brokertrial.spark_analysis.constant_columns import Piece, pieces_of
from brokertrial.spark_analysis.remote_history import files_of, is_elsewhere

SMALL_ROWS = 200_000
"""A table with fewer rows is read by the driver: a plan with a thousand branches would take longer."""

FEW = 8
"""So many branches a table may have: large histories get one each, or several where files differ in what all their
rows hold (pieces.py). Of more histories, each row asks its file's name whose it is."""

_TYPES = {
    pa.int64(): "bigint",
    pa.int32(): "int",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.string(): "string",
    pa.binary(): "binary",
}


Keep = Callable[[DataFrame], DataFrame]


class UnknownFile(RuntimeError):
    """Spark read a file that belongs to no history."""


def rows_in(histories: Sequence[History]) -> int:
    """How many rows all tables of all histories have."""
    return sum(history.count(table) for history in histories for table in TABLES)


def columns_of(schema: pa.Schema) -> str:
    """An Arrow schema as Spark's."""
    return ", ".join(f"`{field.name}` {_TYPES[field.type]}" for field in schema)


def table_of(
    session: SparkSession, name: str, histories: Sequence[History], planted: str = "", keep: Keep = lambda frame: frame
) -> DataFrame:
    """A table of all histories under the shared names; `history` is the place in the list, what is lacking is null.

    `planted`: a folder with the tables of histories that have a number already. `keep` is handed what is small; without
    large ones beside it, all rows are in one piece then, and what is asked of them needs no exchange.
    """
    numbered = list(enumerate(histories))
    small = [(number, history) for number, history in numbered if not _large(name, history)]
    large = [(number, history) for number, history in numbered if _large(name, history)]
    along = gathered(name, small)
    frames = [keep(_beside(session, name, along, planted))] if along.num_rows or planted else []
    if len(large) > FEW:
        frames.append(_by_file(session, name, large))
    else:
        for number, history in large:
            pieces = pieces_of(history, name, FEW // len(large))
            frames += [_numbered(name, _read(session, name, piece), number) for piece in pieces]
    # not kept: of a table that is known to be empty nothing is planned
    return reduce(DataFrame.unionByName, frames or [_renamed(name, frame_of(session, along), "history")])


def _beside(session: SparkSession, name: str, along: pa.Table, planted: str) -> DataFrame:
    frame = frame_of(session, along)
    if planted:
        schema = f"history int, {columns_of(schema_of(name))}"
        frame = frame.unionByName(session.read.schema(schema).parquet(f"{planted}/{name}"))
    return _renamed(name, frame, "history").coalesce(1)


def _large(name: str, history: History) -> bool:
    files = files_of(history, name)
    return bool(files) and (is_elsewhere(files[0]) or history.count(name) > SMALL_ROWS)


def gathered(name: str, histories: Sequence[tuple[int, History]]) -> pa.Table:
    """A table of several histories in memory, each with its number."""
    fields = [pa.field("history", pa.int32()), *(pa.field(each.name, each.type) for each in schema_of(name))]
    tables = [pa.schema(fields).empty_table()]
    for number, history in histories:
        table = history.arrow(name)
        columns = [pa.repeat(pa.scalar(number, pa.int32()), table.num_rows)]
        columns += [_column(table, field) for field in schema_of(name)]
        tables.append(pa.Table.from_arrays(columns, schema=pa.schema(fields)))
    return pa.concat_tables(tables)


def _column(table: pa.Table, field: pa.Field) -> pa.ChunkedArray | pa.Array:
    if field.name in table.column_names:
        return table.column(field.name).cast(field.type)
    return pa.nulls(table.num_rows, field.type)


def _renamed(name: str, frame: DataFrame, *owner: str) -> DataFrame:
    columns = [f.col(f"`{field.name}`").alias(RENAMED.get(field.name, field.name)) for field in schema_of(name)]
    return frame.select(*owner, *columns)


def frame_of(session: SparkSession, table: pa.Table) -> DataFrame:
    """An Arrow table as a frame."""
    if not table.num_rows:
        return nothing(session, columns_of(table.schema))
    # in one piece: Spark stops at the first piece without rows, and silently leaves out all that follow
    return session.createDataFrame(table.combine_chunks(), columns_of(table.schema))


def _read(session: SparkSession, name: str, piece: Piece) -> DataFrame:
    fields = [field for field in schema_of(name) if field.name not in piece.constants]
    frame = session.read.schema(columns_of(pa.schema(fields))).parquet(*piece.files)
    kinds = {field.name: _TYPES[field.type] for field in schema_of(name)}
    return frame.withColumns({each: f.lit(value).cast(kinds[each]) for each, value in piece.constants.items()})


def _numbered(name: str, frame: DataFrame, number: int) -> DataFrame:
    # without a word of the file's name: that one is made for every row, even if it is dropped
    return _renamed(name, frame).withColumn("history", f.lit(number))


def _by_file(session: SparkSession, name: str, histories: list[tuple[int, History]]) -> DataFrame:
    files = [file for _, history in histories for file in files_of(history, name)]
    frame = _renamed(name, _read(session, name, Piece(files)), "_metadata.file_path")
    frame = frame.withColumnRenamed("file_path", "place")
    owners = {_plain(file): number for number, history in histories for file in files_of(history, name)}
    places = [row["place"] for row in frame.select("place").distinct().collect()]
    if strangers := [place for place in places if _plain(place) not in owners]:
        raise UnknownFile(f"{strangers[0]} belongs to none of the histories.")
    known = session.createDataFrame([(place, owners[_plain(place)]) for place in places], "place string, history int")
    return frame.join(f.broadcast(known), "place").drop("place")


def _plain(uri: str) -> tuple[str, str]:
    parts = urlsplit(uri)
    return parts.netloc, unquote(parts.path)
