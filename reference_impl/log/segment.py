"""One segment: a file of whole batches, a sparse index in memory, and the transactions that were aborted in it."""

from __future__ import annotations

import contextlib
import errno
import os
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.log import synced
from brokertrial.reference_impl.log.batch import HEADER_SIZE, OVERHEAD, Header, offset_and_size, read_header

INDEX_INTERVAL = 4096
INDEX_ENTRY = 8
"""Bytes of an entry in Kafka's offset index, by which segment.index.bytes counts."""
_ENTRY = struct.Struct(">qqq")
_FOOTER = struct.Struct(">qqqqqI")
_ABORTED = struct.Struct(">qqqq")
_MAGIC = 0x42545832


class Aborted(NamedTuple):
    """A transaction that ended in an abort marker, as a read_committed consumer must know it."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class Segment:
    """A run of offsets from `base_offset`; only the newest segment of a log is appended to."""

    def __init__(self, folder: Path, base_offset: int, now_ms: int, index_interval: int = INDEX_INTERVAL) -> None:
        self.base_offset = base_offset
        self._index_interval = index_interval
        self.folder = folder
        self.path = folder / f"{base_offset:020d}.log"
        self.created_ms = now_ms
        self.written_ms = 0  # by the broker's clock; 0 since the start: then the file's own time counts
        self.size = 0
        self.max_timestamp = -1
        self.offset_of_max = -1  # last offset of the first batch that reached it
        self.first_timestamp: int | None = None
        self.aborted: list[Aborted] = []
        self._aborted_saved = 0  # how many of them are in the file
        self._fd = -1
        self._synced = 0
        self._indexed_at = -index_interval
        self._offsets: list[int] = []
        self._positions: list[int] = []
        self._times: list[int] = []  # the largest timestamp before each entry

    # Files are made at the first append, so that an empty partition costs nothing.

    def _open(self) -> int:
        if self._fd < 0:
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        return self._fd

    def append(self, batch: bytes | bytearray, header: Header) -> None:
        """Writes one whole batch at the end."""
        fd, position, view = self._open(), self.size, memoryview(batch)
        try:
            written = os.pwrite(fd, view, position)
            while written < len(view):  # a nearly full disk writes in pieces before it fails
                written += os.pwrite(fd, view[written:], position + written)
        except OSError:
            os.ftruncate(fd, position)
            raise
        self.note(header, position)

    def note(self, header: Header, position: int) -> None:
        """Accounts for a batch that is in the file at this position (append, and recovery)."""
        if position - self._indexed_at >= self._index_interval:
            self._offsets.append(header.base_offset)
            self._positions.append(position)
            self._times.append(self.max_timestamp)
            self._indexed_at = position
        if header.max_timestamp > self.max_timestamp or bugs.on("U03"):
            self.max_timestamp, self.offset_of_max = header.max_timestamp, header.last_offset
        if self.first_timestamp is None:
            self.first_timestamp = header.max_timestamp
        self.size = position + header.size

    def add_aborted(self, transaction: Aborted) -> None:
        """Remembers an aborted transaction, on disk too; on a full disk the next one, or the end, brings it there."""
        self.aborted.append(transaction)
        with contextlib.suppress(OSError):
            self.save_aborted()

    def save_aborted(self) -> None:
        """Writes what is not in the file yet, each entry in its own place; OSError if not all could be."""
        if self._aborted_saved == len(self.aborted):
            return
        entries = b"".join(_ABORTED.pack(*one) for one in self.aborted[self._aborted_saved :])
        fd = os.open(self._beside("txnindex"), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            if os.pwrite(fd, entries, self._aborted_saved * _ABORTED.size) < len(entries):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(fd)
        self._aborted_saved = len(self.aborted)

    @property
    def index_entries(self) -> int:
        """How many offsets the index names."""
        return len(self._offsets)

    def locate(self, offset: int) -> int:
        """A position at or before the batch that holds this offset."""
        at = bisect_right(self._offsets, offset) - 1
        return self._positions[at] if at >= 0 else 0

    def indexed_from(self, position: int) -> int | None:
        """The offset of the first index entry at or behind a position; None when there is none."""
        at = bisect_left(self._positions, position)
        return self._offsets[at] if at < len(self._offsets) else None

    def locate_time(self, timestamp: int) -> int:
        """A position at or before the first batch that reaches this time."""
        at = bisect_left(self._times, timestamp) - 1
        return self._positions[at] if at >= 0 else 0

    def headers(self, position: int = 0, chunk_size: int = 64 * 1024) -> Iterator[tuple[int, Header]]:
        """Every (position, header) from a position that is the start of a batch."""
        while position + HEADER_SIZE <= self.size:
            chunk = self.pread(chunk_size, position)
            at = 0
            while at + HEADER_SIZE <= len(chunk):
                header = read_header(chunk, at)
                yield position + at, header
                at += header.size
            position += at

    def pread(self, count: int, position: int) -> bytes:
        """Bytes of the file; fewer than asked for only at its end."""
        return os.pread(self._open(), min(count, self.size - position), position)

    def position_of(self, offset: int) -> int:
        """The exact start of the batch that holds this offset, or of the next one; the size when there is none."""
        position = self.locate(offset)
        if position >= self.size:
            return self.size
        # Most look-ups end in the first bytes after an index entry: walk there by base offsets alone.
        for at, header in self.headers(position, chunk_size=2 * INDEX_INTERVAL):
            if header.last_offset >= offset:
                return at
        return self.size

    def read(self, position: int, max_bytes: int, below: int, at_least_one: bool) -> bytes:
        """Whole batches from a position, none that begins at or above the offset `below`."""
        if position >= self.size:
            return b""
        wanted = min(max(max_bytes, HEADER_SIZE), self.size - position)
        data = self.pread(wanted, position)
        end, limit = 0, max(max_bytes, 0)
        while end + OVERHEAD <= len(data):
            base_offset, size = offset_and_size(data, end)
            if base_offset >= below:
                break
            if end + size > limit:
                if end == 0 and at_least_one:
                    return data[:size] if size <= len(data) else self.pread(size, position)
                break
            end += size
        return data if end == len(data) else data[:end]

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def sync(self) -> None:
        """Makes what is written safe from a power failure."""
        if self._fd >= 0 and self.size > self._synced:
            os.fdatasync(self._fd)
            self._synced = self.size
            synced.note(self.path, self.size)

    def truncate(self, size: int) -> None:
        """Cuts the file; the caller rebuilds what was known of it."""
        os.ftruncate(self._open(), size)
        self.size = size
        if size < synced.length(self.path):
            synced.note(self.path, size)
        self._synced = min(self._synced, size)

    def delete(self) -> None:
        self.close()
        for suffix in ("log", "index", "txnindex", "snapshot", "synced"):
            self._beside(suffix).unlink(missing_ok=True)

    def _beside(self, suffix: str) -> Path:
        return self.path.with_suffix(f".{suffix}")

    # The index is written when a segment is finished, and trusted only if it fits the file.

    def write_index(self) -> None:
        """Saves what a clean start would otherwise have to scan for."""
        if not self.size:
            return
        self.save_aborted()
        first = -1 if self.first_timestamp is None else self.first_timestamp
        footer = _FOOTER.pack(self.size, self.max_timestamp, self.offset_of_max, first, self.created_ms, _MAGIC)
        entries = b"".join(map(_ENTRY.pack, self._offsets, self._positions, self._times))
        synced.write_whole(self._beside("index"), entries + footer)

    def load_index(self) -> bool:
        """Takes over a saved index; False when there is none that fits."""
        path = self._beside("index")
        if not path.exists() or not self.path.exists():
            return False
        data, size = path.read_bytes(), self.path.stat().st_size
        if len(data) < _FOOTER.size or (len(data) - _FOOTER.size) % _ENTRY.size:
            return False
        indexed, maximum, of_maximum, first, created, magic = _FOOTER.unpack_from(data, len(data) - _FOOTER.size)
        if magic != _MAGIC or indexed != size:
            return False
        entries = list(_ENTRY.iter_unpack(data[: -_FOOTER.size]))
        self._offsets, self._positions = [e[0] for e in entries], [e[1] for e in entries]
        self._times = [e[2] for e in entries]
        self._indexed_at = self._positions[-1] if entries else -self._index_interval
        self.size, self.offset_of_max = size, of_maximum
        self.max_timestamp = first if bugs.on("U04") else maximum
        self.first_timestamp, self.created_ms = (None if first == -1 or bugs.on("B66") else first), created
        self._load_aborted()
        return True

    def _load_aborted(self) -> None:
        path = self._beside("txnindex")
        data = path.read_bytes() if path.exists() else b""
        whole = len(data) - len(data) % _ABORTED.size
        self.aborted = [Aborted(*entry) for entry in _ABORTED.iter_unpack(data[:whole])]
        self._aborted_saved = len(self.aborted)

    def forget_aborted(self) -> None:
        """Starts the list again, for a recovery that is about to rebuild it."""
        self.aborted.clear()
        self._aborted_saved = 0
        self._beside("txnindex").unlink(missing_ok=True)

    def reset(self) -> None:
        """Forgets everything known of the file except its size on disk, which it takes as its own."""
        self.size = self.path.stat().st_size if self.path.exists() else 0
        if not bugs.on("B74"):
            self.max_timestamp = self.offset_of_max = -1
        self.first_timestamp = None
        self._offsets, self._positions, self._times, self._indexed_at = [], [], [], -self._index_interval
