"""A crash of the client library: the case is named and inconclusive, the others are judged, the report is whole."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

import pytest

from brokertrial.checkers.verdict import Verdict
from brokertrial.ci import child, crash, run_folder
from brokertrial.ci.commands.run import run
from brokertrial.ci.reports import results
from brokertrial.ci.reports.running import Running
from brokertrial.ci.reports.tally import Tally
from brokertrial.suites.case import by_id
from brokertrial.suites.events import CaseInfo, RunStarted
from brokertrial.suites.exit_status import ExitStatus
from brokertrial.suites.outcome import passed
from brokertrial.suites.result import CaseResult
from brokertrial.suites.running.run_folder import history_of

CASES = ("offsets/ends", "produce/base-offset", "protocol/names-nothing")


def crashed(folder: Path, monkeypatch: pytest.MonkeyPatch, *cases: str, ctrl_c: bool = False) -> tuple[int, Path]:
    """A run of CASES in which these crash: its exit status and its folder."""
    script = str(Path(__file__).with_name("crashing.py"))
    monkeypatch.setattr(child, "command", lambda folder, pipe: [sys.executable, "-P", script, str(folder), str(pipe)])
    monkeypatch.setenv("BROKERTRIAL_TEST_CRASH", ",".join(cases))
    if ctrl_c:
        monkeypatch.setenv("BROKERTRIAL_TEST_CTRL_C", "1")
    status = run(target="reference", select=CASES, seed=7, runs=str(folder / "runs"), unproven="fail")
    (made,) = (folder / "runs").iterdir()
    return status, made


def test_the_case_is_named_and_the_others_are_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, folder = crashed(tmp_path, monkeypatch, "offsets/ends")
    assert status == ExitStatus.INCONCLUSIVE
    _, found, footer = results.read(folder)
    told = {result.case: (result.verdict, result.reason) for result in found}
    verdict, reason = told.pop("offsets/ends")
    assert verdict is Verdict.INCONCLUSIVE and reason is not None and reason.kind == "client"
    assert reason.sentence.startswith("the client library crashed (SIGSEGV) while this case ran")
    assert [verdict for verdict, _ in told.values()] == [Verdict.PASS] * 2
    assert footer.results == 3
    run_folder.verify(folder)
    assert "SIGSEGV" in (folder / "report.html").read_text(encoding="utf-8")
    assert "SIGSEGV" in (folder / "junit.xml").read_text(encoding="utf-8")


def test_after_so_many_crashes_it_stops_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(crash, "MOST", 2)
    status, folder = crashed(tmp_path, monkeypatch, *CASES)
    assert status == ExitStatus.INCONCLUSIVE
    _, found, footer = results.read(folder)
    assert [result.verdict for result in found] == [Verdict.INCONCLUSIVE] * 2
    assert footer.end.error == "the client library crashed 2 times: 1 of 3 cases were not run"
    assert footer.end.error in capfd.readouterr().out
    run_folder.verify(folder)


def test_ctrl_c_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, folder = crashed(tmp_path, monkeypatch, "produce/base-offset", ctrl_c=True)
    assert status == ExitStatus.INTERRUPTED
    _, found, footer = results.read(folder)
    assert found[-1].case == "produce/base-offset" and found[-1].verdict is Verdict.INCONCLUSIVE
    assert footer.end.interrupted
    run_folder.verify(folder)


def a_run(folder: Path, *told: CaseResult, at: Running) -> None:
    """What a process that crashed leaves in its folder."""
    cases = tuple(CaseInfo(name, "", "must", ("offs-001",)) for name in CASES)
    state = RunStarted(str(folder), "reference", "", "full", 7, "", 1.0, cases)
    lines = [results.ResultsHeader(state, "", {}), *(results.ResultLine(result) for result in told)]
    encode = results.msgspec.json.encode
    (folder / results.NAME).write_bytes(b"".join(encode(line) + b"\n" for line in lines) + b'{"line":"resu')
    (folder / "running.json").write_bytes(encode([at]))


@pytest.mark.parametrize(("verdict", "kept"), [(Verdict.PASS, Verdict.INCONCLUSIVE), (Verdict.FAIL, Verdict.FAIL)])
def test_right_after_a_case_only_a_failure_stays(tmp_path: Path, verdict: Verdict, kept: Verdict) -> None:
    result = CaseResult("offsets/ends", "", ("offs-001",), "must", verdict)
    a_run(tmp_path, result, at=Running("offsets/ends", 1, 0, over=True))
    earlier = crash.after(tmp_path, signal.SIGABRT, None, interrupted=False)
    assert earlier is not None and not earlier.ended
    (told,) = earlier.results
    assert told.verdict is kept
    assert told.warnings == ("the client library crashed (SIGABRT) right after this case",)


def test_of_several_that_were_under_way_nobody_is_named_before_each_was_run_alone(tmp_path: Path) -> None:
    trials = ("idempotence/lost-ack", "fetch/cut-reader")
    begun = [Running(name, 1, 0) for name in ("offsets/ends", *trials)]
    a_run(tmp_path, CaseResult("produce/base-offset", "", ("prod-001",), "must", Verdict.PASS), at=begun[0])
    (tmp_path / "running.json").write_bytes(results.msgspec.json.encode(begun))
    earlier = crash.after(tmp_path, signal.SIGSEGV, None, interrupted=False)
    assert earlier is not None and earlier.suspects == trials, "wire cases use no client library"
    assert earlier.judged == {"produce/base-offset"} and earlier.told == 1


def test_cases_side_by_side_took_their_time_together(tmp_path: Path) -> None:
    began = time.monotonic_ns() - 60 * 10**9
    took_a_minute = CaseResult.of(by_id()["offsets/ends"], passed(), started_ns=began, ended_ns=began + 60 * 10**9)
    beside = CaseResult.of(by_id()["produce/base-offset"], passed(), started_ns=began, ended_ns=began + 60 * 10**9)
    a_run(tmp_path, took_a_minute, beside, at=Running("fetch/cut-reader", 1, began + 10**9))
    earlier = crash.after(tmp_path, signal.SIGSEGV, None, interrupted=False)
    assert earlier is not None and 60 <= earlier.spent_s < 90


def test_what_is_run_again_has_room_for_its_history(tmp_path: Path) -> None:
    begun = [Running(name, attempt, 0) for name, attempt in (("fetch/cut-reader", 2), ("offsets/ends", 1))]
    a_run(tmp_path, at=begun[0])
    (tmp_path / "running.json").write_bytes(results.msgspec.json.encode(begun))
    for number in (1, 2):
        a_history = tmp_path / history_of("fetch/cut-reader", number)
        a_history.mkdir(parents=True)
        (a_history / "clock.jsonl").write_text("{}")
    earlier = crash.after(tmp_path, signal.SIGSEGV, None, interrupted=False)
    assert earlier is not None and not earlier.judged
    kept = {path.parent.name for path in tmp_path.glob("crash-1/histories/*/clock.jsonl")}
    assert kept == {"fetch.cut-reader", "fetch.cut-reader~2"} and not any((tmp_path / "histories").iterdir())


def test_what_had_not_begun_is_told_as_before(tmp_path: Path) -> None:
    assert crash.after(tmp_path, signal.SIGSEGV, None, interrupted=False) is None


def test_a_run_that_crashed_is_never_all_clear() -> None:
    passed = CaseResult("offsets/ends", "", ("offs-001",), "must", Verdict.PASS)
    assert Tally.of([passed]).status(ExitStatus.INCONCLUSIVE) == ExitStatus.INCONCLUSIVE
    failed = CaseResult("offsets/ends", "", ("offs-001",), "must", Verdict.FAIL)
    assert Tally.of([failed]).status(ExitStatus.INCONCLUSIVE) == ExitStatus.FAILED
