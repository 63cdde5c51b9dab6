"""What a log is after its end did not survive, or was cut off: where it begins, what is clean, which offset is next."""

from __future__ import annotations

from itertools import count, islice
from pathlib import Path

import pytest

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.log import batch as headers
from brokertrial.reference_impl.log import powercut, truncation
from brokertrial.reference_impl.log.batch import read_header
from brokertrial.reference_impl.log.compaction import clean, dirt
from brokertrial.reference_impl.log.compaction_swap import read_checkpoint
from brokertrial.reference_impl.log.partition_log import PartitionLog
from brokertrial.reference_impl.log.recovery import open_log
from brokertrial.reference_impl.settings.config import LogSettings
from brokertrial.wire import records

T = 1_700_000_000_000
COMPACTED = LogSettings(segment_bytes=200, compact=True, delete=False, min_dirty_ratio=0.0)


def opened(folder: Path, settings: LogSettings = COMPACTED, *, is_clean: bool = False) -> PartitionLog:
    folder.mkdir(exist_ok=True)
    return open_log(folder, settings, T, clean=is_clean)


def put(log: PartitionLog, *keys: bytes) -> None:
    for key in keys:
        built = bytearray(records.build_batch([records.Record(key, b"at %d" % log.end_offset, timestamp=T)]))
        headers.place(built, log.end_offset, 0)
        log.append(built, read_header(built), T)


def compact(log: PartitionLog) -> None:
    for _ in clean(log, dirt(log, log.end_offset, T), T):
        pass


def offsets_of(log: PartitionLog, key: bytes) -> list[int]:
    """Where the finished segments hold this key."""
    return [
        record.offset
        for header, segment, position in log.walk()
        for record in next(records.batches(segment.pread(header.size, position))).records()
        if record.key == key and segment is not log.active
    ]


def test_deleted_offsets_are_not_given_again_when_the_end_is_lost(tmp_path: Path) -> None:
    log = opened(tmp_path, LogSettings())
    put(log, b"a", b"b", b"c")
    log.advance_start(3)
    put(log, b"d")
    log.close(clean=False)
    powercut.cut(tmp_path, None)

    again = opened(tmp_path, LogSettings())
    assert (again.start_offset, again.end_offset) == (3, 3)
    assert again.producers.entries == {} and again.epochs.latest() is None
    put(again, b"e")
    again.close(clean=False)
    assert (opened(tmp_path).start_offset, opened(tmp_path).end_offset) == (3, 4)


@pytest.mark.parametrize("is_clean", [True, False])
def test_a_replica_that_never_had_a_record_begins_where_it_began(is_clean: bool, tmp_path: Path) -> None:
    log = opened(tmp_path)
    truncation.start_over(log, 100, T)
    log.close(clean=is_clean)
    again = opened(tmp_path, is_clean=is_clean)
    assert (again.start_offset, again.end_offset) == (100, 100)
    bugs.plant("D61")
    assert opened(tmp_path, is_clean=is_clean).end_offset == 0


def test_a_start_that_was_truncated_away_stays_away(tmp_path: Path) -> None:
    log = opened(tmp_path, LogSettings())
    put(log, *[b"k"] * 9)
    log.advance_start(8)
    truncation.truncate(log, 5)
    assert (log.start_offset, log.end_offset) == (5, 5)
    put(log, *[b"k"] * 6)
    log.close(clean=False)
    again = opened(tmp_path, LogSettings())
    assert (again.start_offset, again.end_offset) == (5, 11)


@pytest.mark.parametrize("how", ["truncated", "started over", "lost"])
def test_what_comes_in_the_place_of_what_was_clean_is_cleaned(how: str, tmp_path: Path) -> None:
    log = opened(tmp_path)
    put(log, *[b"k%d" % n for n in range(20)])
    compact(log)
    checked = read_checkpoint(tmp_path)
    assert checked > 10
    if how == "truncated":
        truncation.truncate(log, 5)
    elif how == "started over":
        truncation.start_over(log, 5, T)
    else:
        log.advance_start(5)
        log.close(clean=False)
        for path in tmp_path.glob("*.log"):
            path.unlink()
        log = opened(tmp_path)
    assert log.end_offset == 5 and read_checkpoint(tmp_path) <= 5
    put(log, *[b"twice"] * (checked - 5), *[b"k%d" % n for n in range(20)])
    compact(log)
    assert len(offsets_of(log, b"twice")) == 1
    log.close(clean=False)


def test_a_round_that_a_truncation_overtakes_calls_nothing_clean_that_is_gone(tmp_path: Path) -> None:
    for steps in count(1):
        log = opened(tmp_path / f"{steps}")
        put(log, *[b"k"] * 20)
        work = clean(log, dirt(log, log.end_offset, T), T)
        if len(list(islice(work, steps))) < steps:
            break
        truncation.truncate(log, 3)
        for _ in work:
            pass
        assert read_checkpoint(log.folder) <= log.active.base_offset <= log.end_offset <= 3
        log.close(clean=False)
    assert steps > 5, "it is cut at each of its pauses"
