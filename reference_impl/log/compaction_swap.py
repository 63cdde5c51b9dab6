"""Puts a cleaned segment in the place of those that it was made from; a crash at any moment leaves one or the other.

0000.cleaned      being written: worthless after a crash
0000-0900.swap    complete and synced: takes the place of every segment from 0000 below 0900, also after a crash
0000.log          in place
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.log.segment import Aborted, Segment
from brokertrial.wire.records import batches

if TYPE_CHECKING:
    from brokertrial.reference_impl.log.partition_log import PartitionLog


def replace_segments(log: PartitionLog, old: list[Segment], data: bytes, aborted: list[Aborted]) -> bool:
    """Swaps neighbours for one segment with these batches; False when the log no longer has them as they were."""
    at = log.segments.index(old[0]) if old[0] in log.segments else -1
    if at < 0 or log.segments[at : at + len(old)] != old or at + len(old) >= len(log.segments):
        return False
    alone = len(old) == 1
    if alone and (bugs.on("Y40") or (len(data) == old[0].size and data == old[0].pread(len(data), 0))):
        return True
    end = log.segments[at + len(old)].base_offset
    modified = os.stat(old[-1].path).st_mtime if old[-1].path.exists() else None
    swap = _written(log.folder, old[0].base_offset, end, data)
    for segment in old:
        segment.delete()
    fresh = _in_place(swap, old[0].base_offset, old[-1].created_ms)
    fresh.written_ms = old[-1].written_ms
    if modified is not None:
        os.utime(fresh.path, (modified, modified))
    for batch in batches(data):
        fresh.note(batch.header, fresh.size)
    for entry in aborted:
        fresh.add_aborted(entry)
    log.segments[at : at + len(old)] = [fresh]
    fresh.write_index()  # last: a full disk may refuse it, and the old segments are gone
    return True


def finish_swaps(folder: Path) -> None:
    """After a crash: throws away what was not complete, and ends the swaps that were."""
    for unfinished in folder.glob("*.cleaned"):
        unfinished.unlink()
    for swap in folder.glob("*.swap"):
        begin, end = (int(number) for number in swap.stem.split("-"))
        for path in folder.glob("*.log"):
            if begin <= int(path.stem) < end:
                Segment(folder, int(path.stem), 0).delete()
        _in_place(swap, begin, 0)


def read_checkpoint(folder: Path) -> int:
    """The offset up to which this log is clean; -1 when it never was cleaned."""
    path = folder / "cleaned-to"
    return int(path.read_text("ascii")) if path.exists() else -1


def write_checkpoint(folder: Path, offset: int) -> None:
    """Remembers that everything below this offset is clean."""
    temporary = folder / "cleaned-to.new"
    temporary.write_text(f"{offset}\n", "ascii")
    temporary.replace(folder / "cleaned-to")


def lower_checkpoint(folder: Path, offset: int) -> None:
    """What comes at or above this offset is not what was there before, so it is not clean."""
    if read_checkpoint(folder) > offset:
        write_checkpoint(folder, offset)


def _written(folder: Path, begin: int, end: int, data: bytes) -> Path:
    unfinished = folder / f"{begin:020d}.cleaned"
    with unfinished.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return unfinished.replace(folder / f"{begin:020d}-{end:020d}.swap")


def _in_place(swap: Path, begin: int, created_ms: int) -> Segment:
    segment = Segment(swap.parent, begin, created_ms)
    swap.replace(segment.path)
    return segment
