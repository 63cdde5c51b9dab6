"""Part files: rows to Parquet bytes to a closed file, each marked with the history that it belongs to."""

import hashlib
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from brokertrial.histories.header import Part
from brokertrial.histories.rows import Record, Row
from brokertrial.histories.tables import columns_of, encoding_of

IDENTITY = b"brokertrial.history"
SLICE_ROWS = 4_096
"""Rows turned into columns at a time: few enough that the recording threads hardly wait for the interpreter."""
APART_ROWS = 10_000
"""So many records are put into a part for each side: what all rows of a part have in common need not be read of it."""


class PartWriter:
    """Writes the parts of one history and remembers them for its footer."""

    def __init__(self, folder: Path, identity: str) -> None:
        """Nothing is created before the first part."""
        self.written: list[Part] = []
        self._folder = folder
        self._mark = {IDENTITY: identity.encode()}
        self._count: Counter[str] = Counter()

    def write(self, table: str, rows: list[Row]) -> None:
        """Closes the part, or the two, that hold these rows."""
        for alike in _by_side(rows):
            slices = [columns_of(table, alike[at : at + SLICE_ROWS]) for at in range(0, len(alike), SLICE_ROWS)]
            self.write_columns(table, pa.concat_tables(slices))

    def write_columns(self, table: str, columns: pa.Table) -> None:
        """Closes one part that holds these columns."""
        sink = pa.BufferOutputStream()
        pq.write_table(columns.replace_schema_metadata(self._mark), sink, **encoding_of(table))
        content = sink.getvalue()
        self._count[table] += 1
        file = self._folder / table / f"{self._count[table]:05}.parquet"
        file.parent.mkdir(exist_ok=True)
        temporary = file.with_suffix(".tmp")
        temporary.write_bytes(content)
        temporary.replace(file)
        self.written.append(
            Part(
                table=table,
                file=f"{table}/{file.name}",
                rows=columns.num_rows,
                bytes=content.size,
                sha256=hashlib.sha256(content).hexdigest(),
            )
        )


def _by_side(rows: list[Row]) -> list[list[Row]]:
    sides: dict[str, list[Row]] = {}
    if len(rows) < APART_ROWS:
        return [rows]
    for row in rows:
        sides.setdefault(row.side if isinstance(row, Record) else "", []).append(row)
    return list(sides.values())


class PartFooter(NamedTuple):
    """What a part says of itself. `identity`: the history that it belongs to; None when it says nothing."""

    identity: str | None
    schema: pa.Schema
    rows: int


def footer_of(file: Path) -> PartFooter:
    """Reads the end of a part, once for all that is asked of it; raises pa.ArrowException or OSError."""
    with pq.ParquetFile(file) as part:
        schema, rows = part.schema_arrow, part.metadata.num_rows
    mark: bytes | None = (schema.metadata or {}).get(IDENTITY)
    return PartFooter(mark.decode() if mark is not None else None, schema, rows)
