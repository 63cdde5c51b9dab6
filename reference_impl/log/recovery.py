"""Opens a partition's log and finds out what survived: torn tails go, producer state and indexes come back.

After a clean stop the saved indexes are believed. After a crash the newest segment is read from its start, batch by
batch with its checksum, and cut at the first that does not hold; segments behind a cut are dropped.
"""

from __future__ import annotations

import os
from pathlib import Path

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.log import batch as batches
from brokertrial.reference_impl.log.batch import HEADER_SIZE, Header, read_header
from brokertrial.reference_impl.log.compaction_swap import finish_swaps, lower_checkpoint
from brokertrial.reference_impl.log.partition_log import PartitionLog
from brokertrial.reference_impl.log.producers import ProducerTable
from brokertrial.reference_impl.log.segment import Segment
from brokertrial.reference_impl.settings.config import LogSettings

_TORN_BYTES = 2  # the batch still decodes: only its checksum tells


def open_log(folder: Path, settings: LogSettings, now_ms: int, *, clean: bool) -> PartitionLog:
    """The log in this folder as it can be trusted; an empty one if there is none."""
    finish_swaps(folder)
    log = PartitionLog(folder, settings)
    bases = sorted(int(path.stem) for path in folder.glob("*.log")) if folder.exists() else []
    rebuilt: list[Segment] = []
    cut = False
    for base in bases:
        segment = Segment(folder, base, now_ms, settings.index_interval_bytes)
        if cut or (base != bases[0] and base < log.end_offset):
            segment.delete()  # what lies behind a cut, or overlaps what is already there
            continue
        newest = base == bases[-1]
        if not (segment.load_index() and (clean or not newest)):
            cut = scan(segment)
            rebuilt.append(segment)
        log.segments.append(segment)
        log.end_offset = _end_of(segment)
    _settle_start(log, now_ms)
    lower_checkpoint(folder, log.active.base_offset)
    _drop_last_acknowledged(log, clean)
    if not clean and bugs.on("M03"):
        _forget_the_newest_segment(log)
    if not clean and bugs.on("M02c"):
        _keep_a_torn_batch(log)
    restore_producers(log, rebuilt)
    log.epochs.truncate_end(log.end_offset)
    for header, _, _ in log.walk(_epochs_unknown_from(log, rebuilt)):
        log.epochs.assign(header.leader_epoch, header.base_offset)
    if bugs.on("M32f"):
        log.epochs.truncate_end(-1)
    return log


def _epochs_unknown_from(log: PartitionLog, rebuilt: list[Segment]) -> int:
    """Where the leader epochs must be read off the batches again: everywhere, if their file is gone."""
    if log.epochs.latest() is None:
        return log.start_offset
    return rebuilt[0].base_offset if rebuilt else log.end_offset


def scan(segment: Segment) -> bool:
    """Reads a segment from its start and cuts it at the first batch that is torn, damaged or out of order.

    True when it was cut. A hole is no cut: compaction leaves holes, at the end of a segment too.
    """
    segment.reset()
    size, position, expected = segment.size, 0, segment.base_offset
    while (header := _sound(segment, position, size, expected)) is not None:
        segment.note(header, position)
        position, expected = position + header.size, header.last_offset + 1
        segment.size = size
    if position < size:
        segment.truncate(position)
    segment.size = position
    return position < size


def _sound(segment: Segment, position: int, size: int, expected: int) -> Header | None:
    if position + HEADER_SIZE > size:
        return None
    header = read_header(segment.pread(HEADER_SIZE, position))
    if header.magic != 2 or header.size < HEADER_SIZE or position + header.size > size:
        return None
    if header.last_offset < max(expected, header.base_offset):
        return None
    if header.base_offset < expected and position:
        return None  # the first batch may begin before its segment: a replica began where its leader's log does
    whole = segment.pread(header.size, position)
    return header if batches.crc_matches(header, whole) or bugs.on("M02d") else None


def _end_of(segment: Segment) -> int:
    last = segment.base_offset
    newest = segment.headers(segment.locate(1 << 62))
    for _, header in newest:
        last = header.last_offset + 1
    return last


def _settle_start(log: PartitionLog, now_ms: int) -> None:
    """The log begins where it is known to begin, though nothing up to there survived: no offset is given out twice."""
    checkpoint = log.folder / "log-start"
    saved = int(checkpoint.read_text("ascii")) if checkpoint.exists() else 0
    if bugs.on("D61"):
        saved = min(saved, log.end_offset)
    if not log.segments or log.end_offset < saved:
        begin_empty(log, saved, now_ms)
    log.start_offset = max(saved, log.segments[0].base_offset)


def begin_empty(log: PartitionLog, offset: int, now_ms: int) -> None:
    """Forgets all data but the producers: the log is empty, and its next record is given this offset."""
    for segment in log.segments:
        segment.delete()
    for snapshot in log.folder.glob("*.snapshot"):
        snapshot.unlink(missing_ok=True)
    log.segments = [Segment(log.folder, offset, now_ms, log.settings.index_interval_bytes)]
    log.end_offset = offset
    log.epochs.truncate_end(-1)


def _drop_last_acknowledged(log: PartitionLog, clean: bool) -> None:
    """Does nothing in a healthy broker; home of the planted losses at a restart."""
    if log.active.size == 0 or not (bugs.on("M02b") if clean else bugs.on("M02a")):
        return
    *_, (position, header) = log.active.headers(log.active.locate(1 << 62))
    log.active.truncate(position)
    scan(log.active)
    log.end_offset = header.base_offset


def _forget_the_newest_segment(log: PartitionLog) -> None:
    """Not called in a healthy broker; takes the log's end as it was written down at the last flush for the truth."""
    log.active.truncate(0)
    scan(log.active)
    log.end_offset = log.active.base_offset


def _keep_a_torn_batch(log: PartitionLog) -> None:
    """Not called in a healthy broker; the end of the newest batch is as if it had never come to the disk."""
    if log.active.size == 0 or log.folder.name.startswith("__"):
        return
    *_, (_, newest) = log.active.headers(log.active.locate(1 << 62))
    if not newest.is_control:
        os.truncate(log.active.path, log.active.size - _TORN_BYTES)
        os.truncate(log.active.path, log.active.size)


def restore_producers(log: PartitionLog, rebuilt: list[Segment]) -> None:
    """Takes the newest snapshot that is not ahead of what must be read again, and follows the log from there; without
    one from its first segment on, for a transaction may have begun below the log's start, and ended above.
    """
    replay_limit = rebuilt[0].base_offset if rebuilt else log.end_offset
    begin = log.segments[0].base_offset
    for path in sorted(log.folder.glob("*.snapshot"), reverse=True):
        at = int(path.stem)
        if at > log.end_offset or at > replay_limit:
            if at > log.end_offset:
                path.unlink(missing_ok=True)
            continue
        log.producers, begin = ProducerTable.restore(path.read_bytes()), at
        break
    for segment in rebuilt:
        segment.forget_aborted()
    if bugs.on("M11a"):
        log.producers, begin = ProducerTable(), log.end_offset
    active = log.segments
    for header, segment, position in log.walk(begin) if begin < log.end_offset else ():
        log.segments = [segment]  # an aborted transaction is indexed in the segment of its marker
        if header.last_offset >= begin:  # the log may begin within a batch, and within its transaction
            body = segment.pread(header.size if header.is_control else HEADER_SIZE, position)
            log.follow(body, header, index_aborted=segment in rebuilt)
    log.segments = active
    log.refresh_unstable()
