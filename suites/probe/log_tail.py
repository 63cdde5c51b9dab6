"""The end of a partition's log on the disk of a node on this machine, as a crash of the machine may leave it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

TORN_BYTES = 5


def _cut(data: bytes) -> bytes:
    return data[:-TORN_BYTES]


def _zeroed(data: bytes) -> bytes:
    return data[:-TORN_BYTES] + bytes(TORN_BYTES)


def _flipped(data: bytes) -> bytes:
    return data[:-TORN_BYTES] + bytes([data[-TORN_BYTES] ^ 0x10]) + data[1 - TORN_BYTES :]


DAMAGES: Mapping[str, Callable[[bytes], bytes]] = {
    "its last bytes are missing": _cut,
    "its last bytes are zeros": _zeroed,
    "one bit of it is another": _flipped,
}
"""What became of the newest batch."""


def damage(log_dirs: Iterable[str], topic: str, partition: int, how: str) -> str:
    """Does it to the newest segment that holds anything; empty when done, else why it cannot be."""
    for log_dir in log_dirs:
        segments = sorted(Path(log_dir, f"{topic}-{partition}").glob("[0-9]*.log"), reverse=True)
        for segment in segments:
            if len(data := segment.read_bytes()) > TORN_BYTES:
                segment.write_bytes(DAMAGES[how](data))
                return ""
    return "its log is in no folder that can be reached from here"
