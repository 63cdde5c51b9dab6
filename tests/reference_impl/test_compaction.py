"""Compaction: what is left of a log after any number of rounds, crashes included, and what every reader then sees."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.clock import ManualClock
from brokertrial.reference_impl.log import batch as headers
from brokertrial.reference_impl.log import compaction_swap
from brokertrial.reference_impl.log.batch import read_header
from brokertrial.reference_impl.log.compaction import clean, dirt
from brokertrial.reference_impl.log.partition_log import PartitionLog
from brokertrial.reference_impl.log.recovery import open_log
from brokertrial.reference_impl.settings.config import LogSettings
from brokertrial.wire import records

T = 1_700_000_000_000
RULES = LogSettings(segment_bytes=700, compact=True, delete=False, min_dirty_ratio=0.0, delete_retention_ms=1000)
thorough = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@dataclass
class World:
    """A log, and what really happened to it."""

    folder: Path
    log: PartitionLog
    now: int = T
    written: dict[int, records.Record] = field(default_factory=dict)
    aborted: set[int] = field(default_factory=set)
    open: dict[int, list[int]] = field(default_factory=dict)
    sequences: dict[int, int] = field(default_factory=dict)

    @classmethod
    def begin(cls, folder: Path, rules: LogSettings = RULES) -> World:
        folder.mkdir(exist_ok=True)
        return cls(folder, open_log(folder, rules, T, clean=True))

    def put(self, *pairs: tuple[bytes, bytes | None], pid: int = -1, txn: bool = False, codec: str = "none") -> None:
        rows = [records.Record(k, v, (("h", b"1"),), self.now + i) for i, (k, v) in enumerate(pairs)]
        sequence = self.sequences.get(pid, 0)
        who = {"producer_id": pid, "producer_epoch": 0, "base_sequence": sequence} if pid >= 0 else {}
        built = records.build_batch(rows, transactional=txn, compression=codec, **who)  # type: ignore[arg-type]
        base = self._append(built)
        self.sequences[pid] = sequence + len(rows)
        for at, row in enumerate(rows, base):
            self.written[at] = records.Record(row.key, row.value, row.headers, row.timestamp, at)
            if txn:
                self.open.setdefault(pid, []).append(at)

    def end(self, pid: int, *, commit: bool) -> None:
        self._append(records.control_marker("COMMIT" if commit else "ABORT", pid, 0, 0, timestamp=self.now))
        offsets = self.open.pop(pid, [])
        if not commit:
            self.aborted.update(offsets)

    def _append(self, built: bytes) -> int:
        placed, base = bytearray(built), self.log.end_offset
        headers.place(placed, base, 0)
        self.log.append(placed, read_header(placed), self.now)
        return base

    @property
    def stable(self) -> int:
        first = self.log.first_unstable()
        return self.log.end_offset if first is None else first

    def round(self) -> bool:
        """Cleans once, if there is anything to clean."""
        found = dirt(self.log, self.stable, self.now)
        if not found.worth_it(self.log.settings.min_dirty_ratio):
            return False
        for _ in clean(self.log, found, self.now):
            pass
        return True

    def crash(self) -> None:
        self.log.close(clean=False)
        self.log = open_log(self.folder, self.log.settings, self.now, clean=False)

    def batches(self) -> Iterator[records.Batch]:
        for header, segment, position in self.log.walk():
            yield from records.batches(segment.pread(header.size, position))

    def committed(self) -> list[records.Record]:
        """What a read_committed consumer makes of the whole log: it follows the aborted list, as clients do."""
        pending = sorted(self.log.aborted(0, self.log.end_offset), key=lambda a: a.first_offset)
        aborting: set[int] = set()
        seen: list[records.Record] = []
        for batch in self.batches():
            assert batch.crc_ok()
            while pending and pending[0].first_offset <= batch.header.last_offset:
                aborting.add(pending.pop(0).producer_id)
            if batch.header.is_control:
                if batch.header.record_count and batch.marker().kind == "ABORT":
                    aborting.discard(batch.header.producer_id)
            elif not (batch.header.is_transactional and batch.header.producer_id in aborting):
                seen += [record for record in batch.records() if record.offset < self.stable]
        return seen

    def check(self) -> None:
        """Nothing is lost that is the latest of its key, and nothing is there that was not, or not like this."""
        seen = self.committed()
        offsets = [record.offset for record in seen]
        assert offsets == sorted(set(offsets))
        for record in seen:
            assert record == self.written[record.offset]
            assert record.offset not in self.aborted
        latest: dict[bytes, records.Record] = {}
        for offset, record in sorted(self.written.items()):
            if offset < self.stable and offset not in self.aborted:
                latest[record.key or b""] = record
        left = {record.offset for record in seen}
        for record in latest.values():
            assert record.value is None or record.offset in left, f"the latest of {record.key!r} is gone"


STEP = st.one_of(
    st.tuples(st.just("put"), st.integers(0, 4), st.integers(1, 3), st.sampled_from(["none", "gzip", "lz4"])),
    st.tuples(st.just("tombstone"), st.integers(0, 4)),
    st.tuples(st.just("transact"), st.integers(1, 3), st.integers(0, 4)),
    st.tuples(st.just("end"), st.integers(1, 3), st.booleans()),
    st.tuples(st.just("clean")),
    st.tuples(st.just("wait"), st.integers(1, 2000)),
    st.tuples(st.just("crash")),
)


@thorough
@given(steps=st.lists(STEP, min_size=5, max_size=60))
def test_whatever_happens_the_latest_of_every_key_is_there(
    steps: list[tuple[object, ...]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("log")
    world = World.begin(folder)
    for value, step in enumerate(steps, 1):
        world.now += 1
        match step:
            case ("put", int(key), int(count), str(codec)):
                pairs = [(b"k%d" % ((key + i) % 5), b"v%d" % value) for i in range(count)]
                world.put(*pairs, pid=9, codec=codec)
            case ("tombstone", int(key)):
                world.put((b"k%d" % key, None))
            case ("transact", int(pid), int(key)):
                world.put((b"k%d" % key, b"v%d" % value), pid=pid, txn=True)
            case ("end", int(pid), bool(commit)):
                if pid in world.open:
                    world.end(pid, commit=commit)
            case ("clean",):
                world.round()
                world.check()
            case ("wait", int(ms)):
                world.now += ms
            case _:
                known = {e.producer_id: (e.last_sequence, e.open_transaction) for e in producers(world)}
                world.crash()
                assert {e.producer_id: (e.last_sequence, e.open_transaction) for e in producers(world)} == known
                world.check()
    world.round()
    world.check()
    world.log.close(clean=False)
    shutil.rmtree(folder)


def producers(world: World) -> list[object]:
    return list(world.log.producers.entries.values())


def filled(folder: Path, rounds: int = 12) -> World:
    world = World.begin(folder)
    for turn in range(rounds):
        world.put(*[(b"k%d" % n, b"%d-%s" % (turn, b"x" * 40)) for n in range(3)])
    return world


def offsets(world: World) -> list[int]:
    return [record.offset for record in world.committed()]


def test_only_what_lies_below_the_active_segment_is_cleaned(tmp_path: Path) -> None:
    world = filled(tmp_path)
    active = world.log.active.base_offset
    assert world.round()
    left = offsets(world)
    assert [o for o in left if o >= active] == list(range(active, world.log.end_offset))
    assert [o for o in left if o < active] == [active - 3, active - 2, active - 1]
    assert not world.round(), "a clean log is left alone"


def test_nothing_above_the_last_stable_offset_is_cleaned(tmp_path: Path) -> None:
    world = World.begin(tmp_path)
    world.put((b"k", b"old"))
    world.put((b"k", b"open"), pid=1, txn=True)
    for turn in range(20):
        world.put((b"k", b"%d-%s" % (turn, b"x" * 60)))
    assert not world.round()
    world.end(1, commit=False)
    assert world.round()
    world.check()


def test_a_tombstone_is_dated_first_and_goes_once_its_time_is_over(tmp_path: Path) -> None:
    world = filled(tmp_path, 4)
    world.put((b"k0", None))
    at = world.log.end_offset - 1

    def more() -> None:
        for turn in range(8):
            world.put((b"other", b"%d-%s" % (turn, b"x" * 60)))

    more()
    assert world.round()
    assert at in offsets(world), "it stays to be seen"
    world.now += 999
    more()
    world.round()
    assert at in offsets(world)
    world.now += 2
    more()
    world.round()
    assert at not in offsets(world)


def test_a_tombstone_may_be_kept_for_as_long_as_a_setting_can_say(tmp_path: Path) -> None:
    world = World.begin(tmp_path, replace(RULES, delete_retention_ms=2**63 - 1))
    world.put((b"k0", None))
    for turn in range(8):
        world.put((b"other", b"%d-%s" % (turn, b"x" * 60)))
    assert world.round(), "its time would end beyond 64 bits"
    assert 0 in offsets(world)


def test_an_aborted_transaction_leaves_first_its_data_then_its_marker(tmp_path: Path) -> None:
    world = World.begin(tmp_path)
    world.put((b"a", b"gone"), pid=1, txn=True)
    world.end(1, commit=False)
    world.put((b"b", b"stays"), pid=1, txn=True)  # so that the producer's sequence is kept by another batch
    world.end(1, commit=True)

    def markers() -> list[str]:
        return [b.marker().kind for b in world.batches() if b.header.is_control and b.header.record_count]

    def more() -> None:
        world.now += 2000
        for turn in range(8):
            world.put((b"other", b"%d-%s" % (turn, b"x" * 60)))

    more()
    world.round()
    assert b"gone" not in [r.value for b in world.batches() if not b.header.is_control for r in b.records()]
    assert markers() == ["ABORT", "COMMIT"]
    more()
    world.round()
    assert markers() == ["ABORT", "COMMIT"], "a marker without data is dated before it goes"
    more()
    world.round()
    assert markers() == ["COMMIT"]
    world.check()


def test_an_abort_counts_although_its_marker_is_beyond_what_is_cleaned(tmp_path: Path) -> None:
    world = World.begin(tmp_path)
    world.put((b"a", b"kept"))
    world.put((b"a", b"gone"), pid=1, txn=True)
    for turn in range(8):
        world.put((b"other", b"%d-%s" % (turn, b"x" * 60)))
    world.end(1, commit=False)
    assert world.round() and world.log.active.aborted

    assert b"kept" in [record.value for record in world.committed()]
    world.check()


def test_the_last_batch_of_a_producer_stays_empty_to_keep_its_sequence(tmp_path: Path) -> None:
    world = World.begin(tmp_path)
    world.put((b"k", b"1"), (b"k", b"2"), pid=7)
    for turn in range(12):
        world.put((b"k", b"%d-%s" % (turn, b"x" * 60)))
    world.round()
    (empty,) = [b.header for b in world.batches() if b.header.producer_id == 7]
    assert (empty.base_offset, empty.last_offset, empty.last_sequence, empty.record_count) == (0, 1, 1, 0)
    for snapshot in tmp_path.glob("*.snapshot"):
        snapshot.unlink()
    world.crash()
    assert world.log.producers.entries[7].last_sequence == 1


def test_lags_hold_a_round_back_and_bring_it_forward(tmp_path: Path) -> None:
    world = filled(tmp_path)
    world.log.settings = LogSettings(segment_bytes=700, compact=True, min_compaction_lag_ms=60_000)
    assert dirt(world.log, world.stable, world.now).cleanable_bytes == 0
    assert dirt(world.log, world.stable, world.now + 61_000).cleanable_bytes > 0
    world.log.settings = LogSettings(segment_bytes=700, compact=True, max_compaction_lag_ms=60_000)
    assert not dirt(world.log, world.stable, world.now).worth_it(1.0)
    assert dirt(world.log, world.stable, world.now + 61_000).worth_it(1.0)


@pytest.mark.parametrize("moment", ["before the swap", "after the swap", "old ones gone"])
def test_a_crash_in_the_middle_of_a_swap_leaves_old_or_new(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Crash(Exception):
        pass

    def crashes(*_: object) -> None:
        raise Crash

    world = filled(tmp_path, 30)
    if moment == "before the swap":
        monkeypatch.setattr(compaction_swap.os, "fsync", crashes)
    elif moment == "after the swap":
        monkeypatch.setattr(compaction_swap.Segment, "delete", crashes)
    else:
        monkeypatch.setattr(compaction_swap, "_in_place", crashes)
    with pytest.raises(Crash):
        world.round()
    monkeypatch.undo()
    world.crash()
    world.check()
    assert not [*tmp_path.glob("*.swap"), *tmp_path.glob("*.cleaned")]
    world.round()
    world.check()


def test_a_round_gives_up_when_retention_takes_the_log_from_under_it(tmp_path: Path) -> None:
    world = filled(tmp_path, 30)
    found = dirt(world.log, world.stable, world.now)
    work = clean(world.log, found, world.now)
    next(work)
    world.log.settings = LogSettings(segment_bytes=700, compact=True, retention_bytes=500)
    world.log.apply_retention(world.now, world.log.end_offset)
    start = world.log.start_offset
    for _ in work:
        pass
    assert world.log.start_offset == start and offsets(world)[0] >= start


def _latest_of_k(folder: Path) -> object:
    world = filled(folder)
    world.put((b"k1", None))
    world.put((b"k0", b"gone"), pid=1, txn=True)
    world.end(1, commit=False)
    world.put((b"z", b"1"), (b"k2", b"9"), pid=7)
    for turn in range(12):
        world.put((b"z", b"%d-%s" % (turn, b"x" * 60)))
    world.round()
    for snapshot in folder.glob("*.snapshot"):
        snapshot.unlink()
    world.crash()
    rows = [(r.offset, r.key, r.value, r.headers) for r in world.committed()]
    return rows, sorted((e.producer_id, e.last_sequence) for e in world.log.producers.entries.values())


@pytest.mark.parametrize("bug", ["M36a", "M36b", "M36c", "M36e", "M36f", "M36h"])
def test_every_planted_bug_of_compaction_changes_what_is_left(bug: str, tmp_path: Path) -> None:
    healthy = _latest_of_k(tmp_path / "healthy")
    bugs.plant(bug)
    assert _latest_of_k(tmp_path / "sick") != healthy


def test_the_cleaner_works_in_steps_and_stops(tmp_path: Path) -> None:
    from brokertrial.reference_impl.broker.node import Node
    from brokertrial.reference_impl.settings.config import BrokerConfig

    clock = ManualClock(T)
    node = Node(BrokerConfig(tmp_path), clock, random.Random(1))
    node.recover()
    configs = {"cleanup.policy": "compact", "segment.ms": "60000", "min.cleanable.dirty.ratio": "0.1"}
    node.create_topic("t", 1, configs)
    partition = node.partition("t", 0)
    assert partition is not None
    for turn in range(200):
        row = records.Record(b"k", b"%d" % turn, timestamp=T + turn * 3_600_000)
        partition.append_internal(records.build_batch([row]))
    node._cleaner.start()
    clock.advance(5)
    assert len([b for b in partition.batches() if b.header.record_count]) == 2
    node._cleaner.stop()
