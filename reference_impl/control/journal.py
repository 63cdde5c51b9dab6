"""The durable records behind the image: one JSON line each, with a checksum, synced before anyone is answered.

The records are numbered from zero. With one node they are its own business; a controller serves them to the brokers,
who take them in in the same order.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.control.image import Image, JsonRecord
from brokertrial.wire.crc32c import crc32c

_RESERVE, _LEAST_RESERVE = 64 << 10, 1 << 10


class MetadataJournal:
    """An append-only file, the image that its records add up to, and whoever wants to hear of each new one.

    Without a path it lives in memory: what a broker has read of the controller's, or a test's.
    """

    def __init__(self, path: Path | None) -> None:
        self.image = Image()
        self.texts: list[bytes] = []
        self.applied: list[Callable[[JsonRecord], None]] = []
        self._fd = self._size = self._reserved = -1
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            self._size = self._replay(path.read_bytes())
            os.ftruncate(self._fd, self._size)
            self._reserve()

    @property
    def end(self) -> int:
        """The number of records, which is the number of the next one."""
        return len(self.texts)

    def _replay(self, data: bytes) -> int:
        """Applies every whole record; the length of what they fill (a torn tail was never answered)."""
        sound = 0
        for line in data.splitlines(keepends=True):
            checksum, _, text = line.partition(b" ")
            if not line.endswith(b"\n") or len(checksum) != 8 or int(checksum, 16) != crc32c(text):
                break
            before = {name: topic.configs for name, topic in self.image.topics.items()} if bugs.on("A04") else {}
            self._take(text)
            for name in before.keys() & self.image.topics.keys():
                self.image.topics[name].configs = {**before[name], **self.image.topics[name].configs}
            sound += len(line)
        return sound

    def _take(self, text: bytes) -> JsonRecord:
        record: JsonRecord = json.loads(text)
        self.image.apply(record)
        self.texts.append(text)
        return record

    def write(self, *records: JsonRecord) -> None:
        """Makes records durable, then applies them one by one."""
        texts = [json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in records]
        lines = b"".join(b"%08x " % crc32c(text) + text for text in texts)
        if self._fd >= 0:
            self._append(lines)
        for text in texts:
            self.follow(text)

    def _append(self, lines: bytes) -> None:
        """All of it is on the disk, or none: a torn line would hide from the next start whatever came after it."""
        try:
            written = 0
            while written < len(lines):  # a nearly full disk writes in pieces before it fails
                written += os.pwrite(self._fd, lines[written:], self._size + written)
            os.fdatasync(self._fd)
        except OSError:
            os.ftruncate(self._fd, self._size)
            raise
        self._size += len(lines)
        if self._size > self._reserved:
            self._reserve()

    def _reserve(self) -> None:
        """Claims room on the disk ahead of the end: a broker starts, and tells so here, on a full disk too."""
        room = _RESERVE
        while room >= _LEAST_RESERVE:
            try:
                os.posix_fallocate(self._fd, self._size, room)
                break
            except OSError:
                room //= 2
        self._reserved = os.fstat(self._fd).st_size

    def follow(self, text: bytes) -> None:
        """Applies one record that is durable, here or at the controller whose records these are."""
        record = self._take(text)
        for callback in tuple(self.applied):
            callback(record)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
