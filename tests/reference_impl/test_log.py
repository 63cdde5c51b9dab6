"""The partition log: what goes in comes out, over segments, crashes and retention."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.log import batch as headers
from brokertrial.reference_impl.log.batch import read_header
from brokertrial.reference_impl.log.partition_log import PartitionLog
from brokertrial.reference_impl.log.recovery import open_log
from brokertrial.reference_impl.settings.config import LogSettings
from brokertrial.wire import records

T = 1_700_000_000_000
SMALL = LogSettings(segment_bytes=400)
quick = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def batch(
    count: int, log_end: int, *, at: int = T, pid: int = -1, seq: int = -1, epoch: int = 0, txn: bool = False
) -> bytearray:
    rows = [records.Record(b"k", b"v%d" % i, timestamp=at + i) for i in range(count)]
    identity = {"producer_id": pid, "producer_epoch": epoch, "base_sequence": seq} if pid >= 0 else {}
    built = bytearray(records.build_batch(rows, transactional=txn, **identity))  # type: ignore[arg-type]
    headers.place(built, log_end, 0)
    return built


def append(log: PartitionLog, built: bytearray) -> None:
    log.append(built, read_header(built), T)


def marker(log: PartitionLog, pid: int, kind: str) -> None:
    built = bytearray(records.control_marker(kind, pid, 0, 0, timestamp=T))
    headers.place(built, log.end_offset, 0)
    append(log, built)


def offsets(log: PartitionLog) -> list[int]:
    """Every offset a reader can reach by following positions."""
    found, position = [], log.start_offset
    while position < log.end_offset:
        data = log.read(position, 1, log.end_offset, at_least_one=True)
        one = next(records.batches(data))
        assert one.crc_ok()
        found += [o for o in range(one.header.base_offset, one.header.last_offset + 1) if o >= position]
        position = one.header.last_offset + 1
    return found


@quick
@given(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=25), clean=st.booleans())
def test_every_offset_is_readable_before_and_after_a_reopen(
    sizes: list[int], clean: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("log")
    log = open_log(folder, SMALL, T, clean=True)
    for size in sizes:
        append(log, batch(size, log.end_offset))
    assert offsets(log) == list(range(sum(sizes)))
    log.close(clean=clean)

    again = open_log(folder, SMALL, T, clean=clean)
    assert offsets(again) == list(range(sum(sizes)))
    append(again, batch(2, again.end_offset))
    assert again.end_offset == sum(sizes) + 2
    again.close(clean=False)


@quick
@given(cut=st.integers(0, 400), garbage=st.binary(max_size=80), seed=st.integers(0, 9))
def test_a_torn_tail_is_cut_at_the_last_whole_batch(
    cut: int, garbage: bytes, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("log")
    log = open_log(folder, LogSettings(), T, clean=True)
    ends = [0]
    for index in range(6):
        append(log, batch(random.Random(seed + index).randint(1, 4), log.end_offset))
        ends.append(log.active.size)
    path, size = log.active.path, log.active.size
    log.close(clean=False)
    whole = path.read_bytes()
    torn = whole[: max(size - cut, 0)] + garbage
    path.write_bytes(torn)
    # the garbage may be what was there
    kept = next(
        (at for at, both in enumerate(zip(whole, torn, strict=False)) if both[0] != both[1]), min(len(whole), len(torn))
    )

    again = open_log(folder, LogSettings(), T, clean=False)
    assert again.active.size == max(end for end in ends if end <= kept)
    assert offsets(again) == list(range(again.end_offset))
    assert path.stat().st_size == again.active.size
    again.close(clean=False)


@quick
@given(at=st.integers(0, 10_000), flip=st.integers(0, 7))
def test_a_flipped_bit_is_never_served(at: int, flip: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("log")
    log = open_log(folder, LogSettings(), T, clean=True)
    for _ in range(5):
        append(log, batch(3, log.end_offset))
    path = log.active.path
    log.close(clean=False)
    data = bytearray(path.read_bytes())
    data[at % len(data)] ^= 1 << flip
    path.write_bytes(data)

    again = open_log(folder, LogSettings(), T, clean=False)
    offsets(again)  # checks every checksum that it reads
    again.close(clean=False)


def test_a_start_without_the_clean_mark_still_finds_rolled_segments(tmp_path: Path) -> None:
    log = open_log(tmp_path, SMALL, T, clean=True)
    for _ in range(20):
        append(log, batch(3, log.end_offset))
    assert len(log.segments) > 3
    log.close(clean=False)
    for index in tmp_path.glob("*.index"):
        index.unlink()
    assert offsets(open_log(tmp_path, SMALL, T, clean=False)) == list(range(60))


def test_producers_and_open_transactions_survive_a_crash(tmp_path: Path) -> None:
    log = open_log(tmp_path, SMALL, T, clean=True)
    append(log, batch(2, 0, pid=7, seq=0))
    append(log, batch(1, log.end_offset, pid=8, seq=0, txn=True))
    for _ in range(12):
        append(log, batch(3, log.end_offset))
    began = log.first_unstable()
    log.close(clean=False)

    again = open_log(tmp_path, SMALL, T, clean=False)
    assert again.first_unstable() == began == 2
    assert again.producers.entries == log.producers.entries
    marker(again, 8, "ABORT")
    assert again.first_unstable() is None
    assert [(a.producer_id, a.first_offset) for a in again.aborted(0, again.end_offset)] == [(8, 2)]
    again.close(clean=False)

    third = open_log(tmp_path, SMALL, T, clean=False)
    assert [(a.producer_id, a.first_offset) for a in third.aborted(0, third.end_offset)] == [(8, 2)]
    third.close(clean=False)


def test_a_transaction_that_the_log_begins_within_stays_aborted_after_a_kill(tmp_path: Path) -> None:
    log = open_log(tmp_path, LogSettings(), T, clean=True)
    append(log, batch(4, 0, pid=1, seq=0, txn=True))
    marker(log, 1, "ABORT")  # offset 4
    append(log, batch(2, 5))
    log.advance_start(3)
    log.close(clean=False)
    again = open_log(tmp_path, LogSettings(), T, clean=False)
    assert again.start_offset == 3
    assert [(a.producer_id, a.first_offset) for a in again.aborted(3, again.end_offset)] == [(1, 0)]
    again.close(clean=False)


def test_a_transaction_that_ended_above_the_start_began_where_it_began_also_after_a_kill(tmp_path: Path) -> None:
    log = open_log(tmp_path, LogSettings(), T, clean=True)
    append(log, batch(2, 0, pid=1, seq=0, txn=True))
    append(log, batch(2, 2, pid=1, seq=2, txn=True))
    marker(log, 1, "ABORT")  # offset 4
    log.advance_start(2)
    log.close(clean=False)
    again = open_log(tmp_path, LogSettings(), T, clean=False)
    assert [(a.producer_id, a.first_offset) for a in again.aborted(2, again.end_offset)] == [(1, 0)]
    again.close(clean=False)


def test_what_was_known_where_a_segment_begins_is_known_after_many_stops_and_a_kill(tmp_path: Path) -> None:
    log = open_log(tmp_path, SMALL, T, clean=True)
    append(log, batch(2, 0, pid=7, seq=0))
    while len(log.segments) < 4:
        append(log, batch(1, log.end_offset, pid=8, seq=log.end_offset - 2))
    log.settings = LogSettings(segment_bytes=400, retention_bytes=log.size - log.segments[0].size)
    assert log.apply_retention(T, log.end_offset) == 1
    log.settings = LogSettings()
    for _ in range(3):
        log.close(clean=True)
        log = open_log(tmp_path, LogSettings(), T, clean=True)
        append(log, batch(1, log.end_offset, pid=8, seq=log.end_offset - 2))
    log.close(clean=False)

    again = open_log(tmp_path, LogSettings(), T, clean=False)
    assert again.producers.entries == log.producers.entries and set(log.producers.entries) == {7, 8}
    bases = [segment.base_offset for segment in again.segments]
    found = sorted(int(snapshot.stem) for snapshot in tmp_path.glob("*.snapshot"))
    assert found == [*bases, again.end_offset - 1], "one for each segment, and that of the newest stop"
    again.close(clean=False)


def test_aborted_transactions_touch_only_what_they_overlap(tmp_path: Path) -> None:
    log = open_log(tmp_path, LogSettings(), T, clean=True)
    append(log, batch(2, 0, pid=1, seq=0, txn=True))
    marker(log, 1, "ABORT")  # offset 2
    append(log, batch(2, 3, pid=2, seq=0, txn=True))
    marker(log, 2, "COMMIT")  # 5
    append(log, batch(2, 6, pid=1, seq=2, txn=True))
    marker(log, 1, "ABORT")  # 8
    assert [a.first_offset for a in log.aborted(0, 9)] == [0, 6]
    assert [a.first_offset for a in log.aborted(0, 3)] == [0]
    assert [a.first_offset for a in log.aborted(3, 9)] == [6]
    assert log.aborted(3, 6) == []
    log.close(clean=False)


def test_aborted_transactions_are_told_up_to_an_index_entry_or_the_end(tmp_path: Path) -> None:
    log = open_log(tmp_path, LogSettings(segment_bytes=20_000), T, clean=True)
    while len(log.segments) < 2:
        append(log, batch(1, log.end_offset))
    one = len(log.read(0, 1, log.end_offset, at_least_one=True))
    second = log.segments[1].base_offset
    assert 0 < log.told_up_to(0, one) < second, "the next index entry"
    assert log.told_up_to(0, 19_999) == second, "no entry is left in this segment"
    assert log.told_up_to(second, one) == log.end_offset
    log.close(clean=False)


@pytest.mark.parametrize(("interval", "entries"), [(1, 10), (4_096, 1)])
def test_an_index_has_an_entry_for_each_interval_of_bytes(interval: int, entries: int, tmp_path: Path) -> None:
    settings = LogSettings(index_interval_bytes=interval)
    log = open_log(tmp_path, settings, T, clean=True)
    for _ in range(10):
        append(log, batch(1, log.end_offset))
    assert log.active.index_entries == entries
    log.close(clean=False)

    again = open_log(tmp_path, settings, T, clean=False)
    assert again.active.index_entries == entries, "as the recovery made it anew"
    again.close(clean=False)


def test_retention_by_size_drops_a_prefix_and_survives_a_restart(tmp_path: Path) -> None:
    limits = LogSettings(segment_bytes=400, retention_bytes=800)
    log = open_log(tmp_path, limits, T, clean=True)
    for _ in range(30):
        append(log, batch(3, log.end_offset))
    assert log.apply_retention(T, log.end_offset) > 0
    assert 800 <= log.size < 800 + 400
    start = log.start_offset
    assert offsets(log) == list(range(start, 90))
    log.close(clean=False)
    assert offsets(open_log(tmp_path, limits, T, clean=False)) == list(range(start, 90))


def test_retention_by_time_may_empty_the_log_but_never_its_offsets(tmp_path: Path) -> None:
    limits = LogSettings(segment_bytes=400, retention_ms=1000)
    log = open_log(tmp_path, limits, T, clean=True)
    for _ in range(10):
        append(log, batch(3, log.end_offset))
    log.apply_retention(T + 500, log.end_offset)
    assert log.start_offset == 0
    log.apply_retention(T + 5000, log.end_offset)
    assert (log.start_offset, log.end_offset) == (30, 30)
    log.close(clean=False)
    again = open_log(tmp_path, limits, T, clean=False)
    assert (again.start_offset, again.end_offset) == (30, 30)
    again.close(clean=False)


def test_retention_stops_before_an_open_transaction(tmp_path: Path) -> None:
    limits = LogSettings(segment_bytes=200, retention_ms=10)
    log = open_log(tmp_path, limits, T, clean=True)
    append(log, batch(3, 0))
    append(log, batch(3, 3, pid=5, seq=0, txn=True))
    append(log, batch(3, 6))
    log.apply_retention(T + 1000, log.end_offset)
    assert log.start_offset <= 3
    log.close(clean=False)


@quick
@given(times=st.lists(st.integers(0, 50), min_size=1, max_size=30), asked=st.integers(-1, 60), start=st.integers(0, 30))
def test_a_look_up_by_time_agrees_with_a_scan(
    times: list[int], asked: int, start: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    log = open_log(tmp_path_factory.mktemp("log"), SMALL, T, clean=True)
    for time in times:
        append(log, batch(1, log.end_offset, at=T + time))
    log.advance_start(min(start, len(times)))
    expected = next((o for o, t in enumerate(times) if o >= log.start_offset and t >= asked), None)
    found = next(iter(log.reaching(T + asked)), None)
    assert (None if found is None else found[0].base_offset) == expected
    log.close(clean=False)


def test_the_planted_loss_at_a_restart_takes_the_last_batch(tmp_path: Path) -> None:
    log = open_log(tmp_path, LogSettings(), T, clean=True)
    append(log, batch(3, 0))
    append(log, batch(2, 3))
    log.close(clean=False)
    bugs.plant("M02a")
    assert open_log(tmp_path, LogSettings(), T, clean=False).end_offset == 3
