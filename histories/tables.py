"""The Arrow schema of each table, derived from its row type, and how its columns are encoded in Parquet."""

import types
import typing
from functools import cache

import msgspec
import pyarrow as pa

from brokertrial.histories.rows import TABLES, Row

_ARROW = {int: pa.int64(), bool: pa.bool_(), str: pa.string(), bytes: pa.binary()}


@cache
def schema_of(table: str) -> pa.Schema:
    """The columns of a table, in the order of its row type; a column is nullable when its field may be null."""
    hints = typing.get_type_hints(TABLES[table])
    return pa.schema([_column(name, hints[name]) for name in _fields(table)])


def _fields(table: str) -> tuple[str, ...]:
    return TABLES[table].__struct_fields__


def _column(name: str, hint: object) -> pa.Field:
    choices = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    plain = next(choice for choice in choices if choice is not types.NoneType)
    return pa.field(name, _ARROW[plain], nullable=types.NoneType in choices)


def columns_of(table: str, rows: list[Row]) -> pa.Table:
    """The rows as Arrow columns."""
    schema = schema_of(table)
    columns = zip(*map(msgspec.structs.astuple, rows), strict=True) if rows else ((),) * len(schema)
    arrays = [_array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _array(values: tuple[typing.Any, ...], kind: pa.DataType) -> pa.Array:
    """One column; most hold a single value for thousands of rows, which then costs a comparison and no copy."""
    if values and values[0] == values[-1] and values.count(values[0]) == len(values):
        return pa.nulls(len(values), kind) if values[0] is None else pa.repeat(pa.scalar(values[0], kind), len(values))
    return pa.array(values, kind)


def rows_of(table: str, columns: pa.RecordBatch) -> typing.Iterator[Row]:
    """The rows again; a column that a foreign history lacks takes its default."""
    kind = TABLES[table]
    known = [name for name in columns.schema.names if name in _fields(table)]
    lists = [columns.column(name).to_pylist() for name in known]
    for values in zip(*lists, strict=True):
        yield kind(**dict(zip(known, values, strict=True)))


def encoding_of(table: str) -> dict[str, typing.Any]:
    """Parquet settings: strings by dictionary, whole numbers by difference, zstd at its fastest."""
    schema = schema_of(table)
    return {
        "use_dictionary": [field.name for field in schema if pa.types.is_string(field.type)],
        "column_encoding": {field.name: "DELTA_BINARY_PACKED" for field in schema if pa.types.is_integer(field.type)},
        "compression": "zstd",
        "compression_level": 1,
    }
