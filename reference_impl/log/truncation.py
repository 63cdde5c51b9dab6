"""Cuts the end of a log off: a follower does so where its past and the leader's part ways."""

from __future__ import annotations

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.log.compaction_swap import lower_checkpoint
from brokertrial.reference_impl.log.partition_log import PartitionLog
from brokertrial.reference_impl.log.producers import ProducerTable
from brokertrial.reference_impl.log.recovery import begin_empty, restore_producers, scan


def truncate(log: PartitionLog, end_offset: int) -> None:
    """Drops every batch that holds or follows this offset; producers and aborted transactions go back with it."""
    if end_offset < log.end_offset:
        if not bugs.on("B193"):
            lower_checkpoint(log.folder, log.segment_of(end_offset).base_offset)
        _cut(log, end_offset)
        if log.end_offset < log.start_offset and not bugs.on("B38"):
            log.begin_earlier(log.end_offset)
        for snapshot in log.folder.glob("*.snapshot"):
            if int(snapshot.stem) > log.end_offset:
                snapshot.unlink(missing_ok=True)
        _rebuild(log)
    log.epochs.truncate_end(end_offset)


def start_over(log: PartitionLog, offset: int, now_ms: int) -> None:
    """Forgets all data: the log is empty and begins at this offset."""
    lower_checkpoint(log.folder, offset)
    begin_empty(log, offset, now_ms)
    log.start_offset = -1  # so that the new start is written down, whichever way it moved
    if not bugs.on("Y41"):
        log.producers = ProducerTable()
    if not bugs.on("B88"):
        log.refresh_unstable()
    log.advance_start(offset)


def _cut(log: PartitionLog, end_offset: int) -> None:
    while len(log.segments) > 1 and log.active.base_offset > end_offset and not bugs.on("B47"):
        log.segments.pop().delete()
    active = log.active
    active.truncate(active.position_of(end_offset))
    scan(active)
    log.end_offset = active.base_offset
    for _, header in active.headers(active.locate(1 << 62)):
        log.end_offset = header.last_offset + 1
    if log.end_offset == active.base_offset and len(log.segments) > 1:
        log.end_offset = min(end_offset, active.base_offset)


def _rebuild(log: PartitionLog) -> None:
    if bugs.on("X01"):
        return
    log.producers = ProducerTable()
    indexed = [] if bugs.on("B41") else [log.active]
    if bugs.on("J04"):
        log.active.forget_aborted()
        indexed = []
    if bugs.on("B44"):
        log.active.path.with_suffix(".snapshot").write_bytes(b"")
    restore_producers(log, indexed)
