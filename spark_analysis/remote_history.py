"""Histories that do not lie on this machine: HDFS, object stores, whatever Spark has a file system for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from brokertrial.histories.header import FILE, FORMAT, HistoryIncomplete, HistoryTampered, Title, digest_of
from brokertrial.histories.reader import History
from brokertrial.histories.rows import TABLES, Row
from brokertrial.histories.tables import rows_of


def is_elsewhere(place: str) -> bool:
    """Whether a place is a URI of another file system than this machine's own."""
    return "://" in place and not place.startswith("file:")


def files_of(history: History, table: str) -> list[str]:
    """The parts of a table as Spark is to open them."""
    if isinstance(history, Elsewhere):
        return history.uris(table)
    return [f"file://{file.absolute()}" for file in history.parts(table)]


class Elsewhere(History):
    """A history behind a URI, verified like one on disk: its title, and every part's size and checksum."""

    def __init__(self, session: SparkSession, uri: str, title: Title) -> None:
        """Use `Elsewhere.at`."""
        self._session, self._uri = session, uri
        found: dict[str, list[Path]] = {table: [] for table in TABLES}
        for part in title.parts:
            found[part.table].append(Path(part.file))
        super().__init__(Path(PurePosixPath(uri).name), title, found)

    @classmethod
    def at(cls, session: SparkSession, uri: str) -> Elsewhere:
        """Opens and verifies it; raises HistoryIncomplete or HistoryTampered, each one sentence."""
        raw = bytes(Files(session).read(f"{uri}/{FILE}"))
        try:
            title = msgspec.json.decode(raw, type=Title)
        except msgspec.MsgspecError as problem:
            raise HistoryTampered(f"{uri}/{FILE} is cut short or was changed: {problem}.") from problem
        if title.format > FORMAT:
            raise HistoryTampered(f"{uri}/{FILE} has format {title.format}; this version reads up to {FORMAT}.")
        if title.digest != digest_of(title):
            raise HistoryTampered(f"{uri}/{FILE} was changed after it was written: its checksum does not match.")
        if not title.complete:
            raise HistoryIncomplete(f"{uri} was never completed.")
        history = cls(session, uri, title)
        history._verify()
        return history

    def uris(self, table: str) -> list[str]:
        """The parts of a table."""
        return [f"{self._uri}/{part.file}" for part in self.title.parts if part.table == table]

    def count(self, table: str) -> int:
        """How many rows a table has, as its title says."""
        return sum(part.rows for part in self.title.parts if part.table == table)

    def columns(self, table: str) -> frozenset[str]:
        """The columns of the table; none when it has no parts."""
        return self._named_columns.get(table, frozenset())

    def arrow(self, table: str) -> pa.Table:
        """The whole table in memory."""
        return self._session.read.parquet(*self.uris(table)).toArrow() if self.uris(table) else super().arrow(table)

    def rows(self, table: str) -> Iterator[Row]:
        """The rows of a table one by one."""
        for batch in self.arrow(table).to_batches():
            yield from rows_of(table, batch)

    @cached_property
    def _named_columns(self) -> dict[str, frozenset[str]]:
        read = self._session.read
        return {table: frozenset(read.parquet(*self.uris(table)).columns) for table in TABLES if self.uris(table)}

    def _verify(self) -> None:
        """Every part in one job, by the machines that hold them."""
        uris = [f"{self._uri}/{part.file}" for part in self.title.parts]
        if not uris:
            return
        read = self._session.read.format("binaryFile").load(uris)
        digests = read.select("path", f.sha2("content", 256).alias("sha256")).collect()
        found = {"/".join(row["path"].split("/")[-2:]): row["sha256"] for row in digests}
        for part in self.title.parts:
            if found.get(part.file) != part.sha256:
                raise HistoryTampered(f"{self._uri}/{part.file} was changed after it was written.")


class Files:
    """The few calls to Hadoop's file system that opening a history takes."""

    def __init__(self, session: SparkSession) -> None:
        """Of a session that runs."""
        self._jvm: Any = session._jvm
        self._settings: Any = session._jsc.hadoopConfiguration()

    def read(self, uri: str) -> bytes:
        """The bytes of a small file."""
        path, system = self._open(uri)
        if not system.exists(path):
            raise HistoryTampered(f"{uri} cannot be read: there is no such file.")
        stream = system.open(path)
        try:
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def write(self, uri: str, content: bytes) -> None:
        """Replaces a small file."""
        path, system = self._open(uri)
        stream = system.create(path, True)
        try:
            stream.write(bytearray(content))
        finally:
            stream.close()

    def delete(self, uri: str) -> None:
        """Deletes a file, or a folder with all that is in it, where there is one."""
        path, system = self._open(uri)
        system.delete(path, True)

    def has(self, uri: str) -> bool:
        """Whether there is such a file or folder."""
        path, system = self._open(uri)
        return bool(system.exists(path))

    def folders(self, uri: str) -> list[str]:
        """The folders in a folder."""
        path, system = self._open(uri)
        return sorted(f"{uri}/{entry.getPath().getName()}" for entry in system.listStatus(path) if entry.isDirectory())

    def _open(self, uri: str) -> tuple[Any, Any]:
        path = self._jvm.org.apache.hadoop.fs.Path(uri)
        return path, path.getFileSystem(self._settings)


def histories_under(session: SparkSession, uri: str) -> list[str]:
    """The histories at a URI: itself, or those of the run that it names."""
    files, uri = Files(session), uri.rstrip("/")
    if files.has(f"{uri}/{FILE}"):
        return [uri]
    if not files.has(f"{uri}/histories"):
        return []
    return [folder for folder in files.folders(f"{uri}/histories") if files.has(f"{folder}/{FILE}")]
