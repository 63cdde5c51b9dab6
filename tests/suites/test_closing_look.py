"""The closing look: what a log says of every other answer, and bugs that cases about something else leave alone."""

from __future__ import annotations

import contextlib
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from brokertrial.checkers.verdict import Verdict
from brokertrial.reference_impl import bugs
from brokertrial.suites.closing_look.log_model import LastOf, LogModel, last_of_producers
from brokertrial.suites.closing_look.look import LOOKS, SEVERAL, closing_look, failed_in_several
from brokertrial.suites.closing_look.partition import PartitionLook
from brokertrial.suites.closing_look.subjects import subjects
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.failures import StatementFalse
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.running.options import RunOptions
from brokertrial.suites.running.rejudge import judge_stored
from brokertrial.suites.running.run import run
from brokertrial.wire.messages import Struct, request, response
from brokertrial.wire.records import Batch, Record, batches, build_batch, control_marker, patch
from tests.suites.in_process import NOW_MS, InProcess

T = 1_000_000


def plain(offset: int, *times: int, epoch: int = 0, **fields: Any) -> Batch:
    """A batch at an offset, one record for each time."""
    made = build_batch([Record(None, b"v", timestamp=T + time) for time in times], **fields)
    return next(batches(patch(made, offset, epoch)))


def marker(kind: str, offset: int, producer: int) -> Batch:
    return next(batches(control_marker(kind, producer, 0, 0, base_offset=offset, leader_epoch=0, timestamp=T)))


def in_transaction(offset: int, producer: int, sequence: int = 0) -> Batch:
    return plain(offset, 0, producer_id=producer, producer_epoch=0, base_sequence=sequence, transactional=True)


def model(*log: Batch, start: int = 0, end: int = -1) -> LogModel:
    return LogModel(log, start, end if end >= 0 else log[-1].header.last_offset + 1)


@pytest.mark.parametrize(
    ("time", "offsets"),
    [
        (0, {0}),
        (5, {1}),
        (10, {1}),
        (11, {2}),
        (21, {-1}),
    ],
)
def test_a_time_names_the_first_record_at_or_after_it(time: int, offsets: set[int]) -> None:
    out_of_order = model(plain(0, 0, 10), plain(2, 20, 15))
    assert out_of_order.offsets_at(T + time) == offsets


def test_records_below_the_start_and_markers_do_not_count_for_a_time() -> None:
    cut = model(plain(0, 0, 10), plain(2, 20), start=1)
    assert cut.offsets_at(T) == {1, -1}
    ended = model(in_transaction(0, 7), marker("COMMIT", 1, 7), plain(2, 9), start=1)
    assert ended.offsets_at(T) == {1, 2, -1}, "whether the marker counts is open"


def test_none_is_named_for_a_time_only_where_records_were_deleted() -> None:
    """Apache Kafka looks in one segment, the first with so late a time, though that time may be of a deleted record."""
    rest = plain(1, 0), plain(2, 10)
    assert model(plain(0, 10), *rest).offsets_at(T + 5) == {0}
    assert model(*rest, start=1).offsets_at(T + 5) == {2, -1}, "not what lies below the start, nor what is too early"
    assert model(*rest, start=1).offsets_at(T + 11) == {-1}


@pytest.mark.parametrize(("bug", "named"), [("", None), ("M30a", 2), ("M30c", 4), ("M30d", 0)])
def test_a_wrong_offset_for_a_time_shows_though_records_were_deleted(
    bug: str, named: int | None, tmp_path: Path
) -> None:
    world = InProcess(tmp_path)
    wire = Wire(world, CaseContext(prefix="bt-x", case="offsets/x", latency_ms=0.1, time_ms=NOW_MS), [world.address])
    try:
        wire.create_topic("t").must_succeed()
        for times in ((20,), (0,), (10, 15)):
            sent = [Record(None, b"v", timestamp=NOW_MS - 1_000 + time) for time in times]
            wire.produce("t", batch(records=sent)).must_succeed()
        wire.delete_records("t", offset=1).must_succeed()
        if bug:
            bugs.plant(bug)
        shown = contextlib.nullcontext() if named is None else pytest.raises(StatementFalse, match=f"offset {named};")
        with shown:
            PartitionLook(wire, "t", 0, compacted=False).judge()
    finally:
        world.end()
        bugs.clear()


def test_an_epoch_ends_where_a_later_one_begins() -> None:
    log = model(plain(0, 0, epoch=2), plain(1, 0, epoch=2), plain(2, 0, epoch=5), end=3)
    assert (log.epoch_end(2), log.epoch_end(5)) == (2, 3)


@pytest.mark.parametrize(
    ("log", "gap"),
    [
        (model(plain(0, 0, 0), plain(2, 0)), None),
        (model(plain(4, 0), plain(5, 0), start=4), None),
        (model(plain(0, 0), plain(2, 0)), (1, 2)),
        (model(plain(0, 0), end=2), (1, 2)),
        (model(plain(0, 0, 0), plain(1, 0)), (2, 1)),
    ],
)
def test_offsets_between_batches_may_not_be_missing(log: LogModel, gap: tuple[int, int] | None) -> None:
    assert log.gap() == gap and log.beyond_the_end is None


def test_a_log_that_goes_on_behind_its_end_misses_nothing() -> None:
    """Seen: a Fetch brought everything up to 558, and ListOffsets ended the log at 510."""
    log = model(plain(0, 0, 0), plain(2, 0, 0), end=2)
    assert log.gap() is None and log.beyond_the_end == 3
    assert model(plain(0, 0, 0), plain(2, 0, 0)).beyond_the_end is None


def test_what_an_abort_follows_is_not_committed() -> None:
    log = model(in_transaction(0, 7), plain(1, 0), in_transaction(2, 8), marker("ABORT", 3, 7), marker("COMMIT", 4, 8))
    assert log.open_since is None and log.committed(below=5) == [1, 2]
    still_open = model(in_transaction(0, 7), marker("ABORT", 1, 7), plain(2, 0), in_transaction(3, 7, 1), plain(4, 0))
    assert still_open.open_since == 3 and still_open.committed(below=3) == [2]


def test_what_compaction_left_of_a_marker_ends_a_transaction() -> None:
    control = build_batch([], control=True, producer_id=7, producer_epoch=0, transactional=True, last_offset_delta=0)
    log = model(in_transaction(0, 7), next(batches(patch(control, 1, 0))), plain(2, 0))
    assert log.open_since is None and log.committed(below=3) == [0, 2]


def test_the_last_batch_of_a_producer() -> None:
    log = model(in_transaction(0, 7), in_transaction(1, 7, 1), in_transaction(2, 8), marker("ABORT", 3, 8))
    assert last_of_producers(log) == {7: LastOf(0, 1, False), 8: LastOf(0, -1, True)}


# what a case made and used


def exchange(sent: int, received: int, asked: Struct, answer: Struct | None) -> Any:
    return SimpleNamespace(request=asked, answer=answer, sent_ns=sent, received_ns=received)


def commit(sent: int, received: int, offset: int, code: int | None = 0, topic_id: UUID | None = None) -> Any:
    name, number = ("" if topic_id else "t", topic_id or UUID(int=0))
    part = {"partition_index": 0, "committed_offset": offset}
    asked = request("OffsetCommit", group_id="g", topics=[{"name": name, "topic_id": number, "partitions": [part]}])
    row = {"name": name, "topic_id": number, "partitions": [{"partition_index": 0, "error_code": code or 0}]}
    return exchange(sent, received, asked, None if code is None else response("OffsetCommit", topics=[row]))


PLACE = ("t", 0)
TOPIC_ID = UUID(int=9)


@pytest.mark.parametrize(
    ("commits", "demanded"),
    [
        ([commit(1, 2, 5), commit(3, 4, 7)], {PLACE: 7}),
        ([commit(1, 2, 5), commit(3, 4, 7, code=22)], {PLACE: 5}),
        ([commit(1, 2, 5, topic_id=TOPIC_ID)], {PLACE: 5}),
        ([commit(1, 2, 5), commit(3, 0, 7, code=None)], {}),
        ([commit(1, 4, 5), commit(2, 3, 7)], {}),
    ],
    ids=["the last", "a refused one", "by id", "without an answer", "two at once"],
)
def test_only_a_commit_that_no_other_can_follow_is_demanded(commits: list[Any], demanded: dict[Any, int]) -> None:
    found = subjects(commits, ["t"], ["g"], {"t": TOPIC_ID})
    assert found.acknowledged.get("g", {}) == demanded


def test_after_a_deletion_no_commit_is_demanded() -> None:
    deleted = exchange(5, 6, request("DeleteGroups", groups_names=["g"]), response("DeleteGroups"))
    assert subjects([commit(1, 2, 5), deleted], ["t"], ["g"], {}).acknowledged == {}


def test_where_an_epoch_ended_may_be_compacted_away() -> None:
    compacted = model(plain(0, 0, epoch=0), plain(13, 1, epoch=1))
    assert (compacted.epoch_end_at_least(0), compacted.epoch_end(0)) == (1, 13)


# bugs that a case about something else passes by


@pytest.mark.parametrize(
    ("bug", "case", "sentence", "guarantee"),
    [
        ("M30c", "records/times-are-kept", "it names offset", "offs-002"),
        ("M37b", "records/round-trip", "no batch of the answer holds offset", "fetch-015"),
    ],
)
@pytest.mark.usefixtures("looks_settle_soon")
def test_a_bug_that_the_case_is_not_about_is_found(
    bug: str, case: str, sentence: str, guarantee: str, tmp_path: Path
) -> None:
    options = RunOptions(f"reference?mutant={bug}", select=(case,), run_dir=str(tmp_path / "r"), jobs=1)
    (found,) = [result for result in run(options).results if result.case == case]
    assert found.verdict is Verdict.FAIL and found.reason is not None
    assert "the closing look" in found.reason.sentence and sentence in found.reason.sentence
    assert found.guarantees == (guarantee,)
    again = judge_stored(tmp_path / "r" / found.history)
    assert (again.guarantees, again.failures) == (found.guarantees, found.failures)


@pytest.mark.usefixtures("looks_settle_soon")
def test_one_bug_fails_the_looks_of_a_few_cases_and_warns_in_the_others(tmp_path: Path) -> None:
    cases = ("records/round-trip", "records/times-are-kept", "idempotence/newer-epoch", "fetch/over-markers")
    options = RunOptions("reference?mutant=M30c", select=cases, run_dir=str(tmp_path / "r"), jobs=1)
    results = [result for result in run(options).results if result.case in cases]
    verdicts = sorted(str(result.verdict) for result in results)
    assert verdicts == ["fail"] * SEVERAL + ["pass"], [result.reason for result in results]
    (warned,) = [result for result in results if result.verdict is Verdict.PASS]
    assert any("as in 3 cases before" in warning for warning in warned.warnings)
    assert len(failed_in_several(results)) == 1 and failed_in_several(results[:2]) == ()


@pytest.mark.parametrize("waits_once", [True, False], ids=["now", "in a history of before"])
def test_the_same_failure_is_waited_for_once_in_a_case(
    waits_once: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that fails by something else is waited for as well."""
    world, looked = InProcess(tmp_path), Counter[str]()
    scene = CaseContext(prefix="bt-x", case="offsets/x", latency_ms=0.1, time_ms=NOW_MS, waits_once=waits_once)
    wire = Wire(world, scene, [world.address])

    def judge(look: PartitionLook) -> None:
        looked[look._name] += 1
        raise StatementFalse("it is another" if look._name == "bt-x-c-0" else f"it is {sum(looked.values())}")

    monkeypatch.setattr(PartitionLook, "judge", judge)
    try:
        for topic in ("bt-x-a", "bt-x-b", "bt-x-c"):
            wire.create_topic(topic).must_succeed()
        with contextlib.suppress(StatementFalse):  # the third long part ends the case
            closing_look(wire, undisturbed=False)
    finally:
        world.end()
    assert [error.part.rpartition(" ")[2] for error in wire.kept] == ["bt-x-a-0", "bt-x-b-0", "bt-x-c-0"]
    assert min(looked["bt-x-a-0"], looked["bt-x-c-0"]) > 20
    assert looked["bt-x-b-0"] == LOOKS if waits_once else looked["bt-x-b-0"] > 20
