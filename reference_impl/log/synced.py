"""How much of a file is on the disk for certain: noted beside it after every fdatasync, for `powercut`.

The note itself need not survive a power failure: only the command that plays one reads it, and kill -9 keeps it.
"""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Writes a small file that is there whole or not at all, whatever happens, and on the disk when this returns."""
    temporary = path.with_name(path.name + ".new")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def note(path: Path, size: int) -> None:
    """Everything below this size is safe."""
    fd = os.open(path.with_suffix(".synced"), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        os.pwrite(fd, size.to_bytes(8, "big"), 0)
    finally:
        os.close(fd)


def length(path: Path) -> int:
    """What was noted last; 0 if nothing ever was."""
    beside = path.with_suffix(".synced")
    return int.from_bytes(beside.read_bytes()[:8], "big") if beside.exists() else 0
