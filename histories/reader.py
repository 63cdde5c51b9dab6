"""Reads a history back, after making sure that it is whole and that every part is its own."""

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from brokertrial.histories.header import Header, HistoryIncomplete, HistoryTampered, Part, Title, read_title
from brokertrial.histories.parts import PartFooter, footer_of
from brokertrial.histories.rows import TABLES, Row
from brokertrial.histories.tables import rows_of, schema_of

READ_ROWS = 65_536


class History:
    """One verified history. Tables that it does not have read as empty."""

    def __init__(self, folder: Path, title: Title, parts: dict[str, list[Path]]) -> None:
        """Use `History.open`."""
        self.folder = folder
        self.title = title
        self._parts = parts
        self._footers: dict[Path, PartFooter] = {}

    @classmethod
    def open(cls, folder: Path | str, allow_incomplete: bool = False) -> "History":
        """Opens a history folder; raises HistoryIncomplete or HistoryTampered, with the reason in one sentence.

        With `allow_incomplete` a run that was killed, or closed as cut short, is opened as far as its parts go.
        """
        folder = Path(folder)
        title = read_title(folder)
        closed = title.closed_ns is not None
        if not title.complete and not allow_incomplete:
            why = "it was closed as cut short" if closed else "its run was killed"
            raise HistoryIncomplete(f"{folder} was never completed: {why}.")
        found = {table: sorted((folder / table).glob("*.parquet")) for table in TABLES}
        if closed:
            _match_footer(folder, title, found)
        else:
            _match_numbers(found)
        history = cls(folder, title, found)
        for table, files in found.items():
            for file in files:
                history._footers[file] = footer = _own_footer(file, title.identity)
                _match_types(table, file, footer.schema)
        return history

    @property
    def header(self) -> Header:
        """What was known when the case began."""
        return self.title.header

    @property
    def identity(self) -> str:
        """The name that no other history has."""
        return self.title.identity

    @property
    def complete(self) -> bool:
        """Whether the recorder closed it as complete."""
        return self.title.complete

    @property
    def tables(self) -> dict[str, list[Path]]:
        """The part files of every table."""
        return dict(self._parts)

    def parts(self, table: str) -> list[Path]:
        """The part files of a table, in the order in which they were written."""
        return self._parts[table]

    def count(self, table: str) -> int:
        """How many rows a table has, as its parts say."""
        return sum(footer.rows for footer in self._footers_of(table))

    def columns(self, table: str) -> frozenset[str]:
        """The columns that every part of the table has; none when it has no parts."""
        schemas = [frozenset(footer.schema.names) for footer in self._footers_of(table)]
        return frozenset.intersection(*schemas) if schemas else frozenset()

    def arrow(self, table: str) -> pa.Table:
        """The whole table in memory."""
        if not self._parts[table]:
            return schema_of(table).empty_table()
        return pa.concat_tables([pq.read_table(file) for file in self._parts[table]], promote_options="default")

    def rows(self, table: str) -> Iterator[Row]:
        """The rows of a table one by one, in bounded memory."""
        for file in self._parts[table]:
            with pq.ParquetFile(file) as part:
                for batch in part.iter_batches(batch_size=READ_ROWS):
                    yield from rows_of(table, batch)

    def _footers_of(self, table: str) -> list[PartFooter]:
        """Read once: every need of every check is looked up here, and parts stay as they are."""
        for file in self._parts[table]:
            if file not in self._footers:
                self._footers[file] = footer_of(file)
        return [self._footers[file] for file in self._parts[table]]


def _match_footer(folder: Path, title: Title, found: dict[str, list[Path]]) -> None:
    listed = {folder / part.file: part for part in title.parts}
    present = {file for files in found.values() for file in files}
    if missing := sorted(listed.keys() - present):
        raise HistoryTampered(f"{missing[0]} is missing: history.json lists it with {listed[missing[0]].rows} rows.")
    if foreign := sorted(present - listed.keys()):
        raise HistoryTampered(f"{foreign[0]} does not belong to this history: history.json does not list it.")
    with ThreadPoolExecutor() as pool:  # the interpreter is let go while a digest is made
        list(pool.map(_match_checksum, listed, listed.values(), repeat(title.identity)))


def _match_checksum(file: Path, part: Part, identity: str) -> None:
    size = file.stat().st_size
    with file.open("rb") as content:
        if size == part.bytes and hashlib.file_digest(content, "sha256").hexdigest() == part.sha256:
            return
    _own_footer(file, identity)
    what = "its checksum differs" if size == part.bytes else f"it has {size} bytes of {part.bytes}"
    raise HistoryTampered(f"{file} was changed after it was written: {what}.")


def _match_numbers(found: dict[str, list[Path]]) -> None:
    """A killed run has no list of its parts, but it numbered them without gaps."""
    for files in found.values():
        for number, file in enumerate(files, start=1):
            expected = file.with_stem(f"{number:05}")
            if file != expected:
                raise HistoryTampered(f"{expected} is missing: a later part of the same table is there.")


def _match_types(table: str, file: Path, found: pa.Schema) -> None:
    """A column may be absent, but what is there must be what the format says, or a narrower number."""
    for field in schema_of(table):
        if field.name in found.names and not _fits(found.field(field.name).type, field.type):
            kind = found.field(field.name).type
            raise HistoryTampered(f"{file} has the column {field.name} as {kind}; it must be {field.type}.")


def _fits(kind: pa.DataType, wanted: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_integer(wanted):
        return bool(pa.types.is_integer(kind) or pa.types.is_null(kind))
    if pa.types.is_string(wanted):
        return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind))
    return bool(kind == wanted or pa.types.is_null(kind) or pa.types.is_large_binary(kind))


def _own_footer(file: Path, identity: str) -> PartFooter:
    try:
        footer = footer_of(file)
    except (pa.ArrowException, OSError) as problem:
        raise HistoryTampered(f"{file} is cut short or was changed: it is no readable Parquet file.") from problem
    if footer.identity != identity:
        whose = footer.identity or "unmarked"
        raise HistoryTampered(f"{file} belongs to another history ({whose}), not to {identity}.")
    return footer
