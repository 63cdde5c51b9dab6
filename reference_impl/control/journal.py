"""The durable records behind the image: one JSON line each, with a checksum, synced before anyone is answered."""

from __future__ import annotations

import json
import os
from pathlib import Path

from reference_impl.control.image import Image, JsonRecord
from wire.crc32c import crc32c


class Journal:
    """An append-only file and the image that its records add up to."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.image = Image()
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._size = self._replay(path.read_bytes())
        os.ftruncate(self._fd, self._size)

    def _replay(self, data: bytes) -> int:
        """Applies every whole record; the length of what they fill (a torn tail was never answered)."""
        sound = 0
        for line in data.splitlines(keepends=True):
            checksum, _, text = line.partition(b" ")
            if not line.endswith(b"\n") or len(checksum) != 8 or int(checksum, 16) != crc32c(text):
                break
            self.image.apply(json.loads(text))
            sound += len(line)
        return sound

    def write(self, record: JsonRecord) -> None:
        """Makes a record durable, then applies it."""
        text = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        line = b"%08x " % crc32c(text) + text
        os.pwrite(self._fd, line, self._size)
        os.fdatasync(self._fd)
        self._size += len(line)
        self.image.apply(record)

    def close(self) -> None:
        os.close(self._fd)

