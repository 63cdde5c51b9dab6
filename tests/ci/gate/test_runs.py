"""The runs of a gate: only what came to no verdict is run again, and every attempt is kept."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from brokertrial.ci import run_folder
from brokertrial.ci.errors import UserError
from brokertrial.ci.gate import last_run, policy
from brokertrial.ci.gate.runs import Runs, conduct
from brokertrial.ci.reports import results as stored
from brokertrial.ci.reports.run_state import RunState
from brokertrial.suites.case import all_cases, by_id
from brokertrial.suites.events import CaseFinished, CaseInfo, LeftOut, RunEvent, RunFinished, RunStarted
from brokertrial.suites.exit_status import ExitStatus, exit_status
from brokertrial.suites.proving.case_dependencies import text_hash
from brokertrial.suites.result import CaseResult
from brokertrial.suites.running.options import RunOptions
from tests.ci.gate.conftest import started
from tests.ci.gate.made import absent, failed, passed, unsure

A, B, C = "offsets/ends", "ordering/offsets-rise", "ordering/one-connection"


def leave(
    folder: Path, results: list[CaseResult], run: RunStarted | None = None, end: RunFinished | None = None
) -> int:
    """Writes what a run would have left, and returns its status."""
    status = exit_status(results)
    folder.mkdir(parents=True, exist_ok=True)
    state = RunState(folder)
    writer = stored.writer(state)
    events: list[RunEvent] = [run or started(results), *map(CaseFinished, results), end or RunFinished(status)]
    for event in events:
        state.on(event)
        writer.on(event)
    return status


def conducted(tmp_path: Path, *rounds: list[CaseResult], retries: int = 1) -> tuple[Runs, list[RunOptions]]:
    asked: list[RunOptions] = []

    def run(options: RunOptions) -> int:
        asked.append(options)
        return leave(Path(options.run_dir or ""), rounds[len(asked) - 1])

    return conduct(RunOptions("reference", seed=7, runs=str(tmp_path)), retries, run), asked


def test_what_is_inconclusive_is_run_again_with_another_seed(tmp_path: Path) -> None:
    told, asked = conducted(tmp_path, [passed(A), unsure(B), failed(C)], [passed(B)])
    assert [(each.select, each.seed) for each in asked] == [((), 7), ((B,), 1007)]
    assert [(one.case, str(one.verdict)) for one in told.results] == [(A, "pass"), (B, "pass"), (C, "fail")]
    assert told.places == {B: Path(asked[1].run_dir or "")}


def test_a_second_run_is_announced(tmp_path: Path) -> None:
    rounds, said = iter([[passed(A), unsure(B)], [passed(B)]]), list[str]()
    options = RunOptions("reference", seed=7, runs=str(tmp_path))
    conduct(options, 2, lambda given: leave(Path(given.run_dir or ""), next(rounds)), said.append)
    assert said == ["\n1 inconclusive case run again, on a target that is started anew: 1 of at most 2 times"]


def test_a_failure_is_never_repeated_away(tmp_path: Path) -> None:
    told, _ = conducted(tmp_path, [failed(A), unsure(B)], [passed(A), failed(B)])
    assert [str(one.verdict) for one in told.results] == ["fail", "fail"]


def test_a_pass_that_fails_the_second_time_is_a_failure(tmp_path: Path) -> None:
    told, _ = conducted(tmp_path, [passed(A), unsure(B)], [failed(A), unsure(B)])
    assert [str(one.verdict) for one in told.results] == ["fail", "inconclusive"]


def test_without_retries_or_doubt_there_is_one_run(tmp_path: Path) -> None:
    assert len(conducted(tmp_path, [passed(A), unsure(B)], retries=0)[1]) == 1
    assert len(conducted(tmp_path, [passed(A), failed(B)], retries=3)[1]) == 1


def test_a_target_that_never_served_has_no_results(tmp_path: Path) -> None:
    told = Runs.read(tmp_path, ExitStatus.NOT_READY)
    assert (told.run, told.ended) == (None, ExitStatus.NOT_READY)


def test_an_interrupted_run_is_not_gone_on_with(tmp_path: Path) -> None:
    end = RunFinished(ExitStatus.INTERRUPTED, interrupted=True)
    asked: list[RunOptions] = []

    def run(options: RunOptions) -> int:
        asked.append(options)
        leave(Path(options.run_dir or ""), [unsure(A)], end=end)
        return ExitStatus.INTERRUPTED

    told = conduct(RunOptions("reference", seed=7, runs=str(tmp_path)), 3, run)
    assert (len(asked), told.ended) == (1, ExitStatus.INTERRUPTED)


def good(folder: Path, results: list[CaseResult], run: RunStarted | None = None) -> None:
    """Leaves a run that the gate passed."""
    leave(folder, results, run)
    (folder / run_folder.NAME).touch()
    ended = RunFinished(ExitStatus.PASSED)
    last_run.keep(RunState(folder, run=run or started(results), results=results, end=ended), folder / last_run.RECORD)


def test_the_last_good_run_of_a_folder_is_the_newest_of_the_target_that_a_gate_passed(tmp_path: Path) -> None:
    now = started([passed(A)])
    good(tmp_path / "20261121-1", [passed(A)])
    good(tmp_path / "20261122-1", [passed(B)])
    leave(tmp_path / "20261123-1", [passed(A)])
    good(tmp_path / "20261124-1", [passed(A)], msgspec.structs.replace(now, target="mock"))
    good(tmp_path / "20261125-1", [passed(A)])
    (tmp_path / "20261125-1" / last_run.RECORD / stored.NAME).write_text("cut")
    found = last_run.newest_good(tmp_path, "reference", now)
    assert found is not None and found.folder.name == "20261122-1"
    assert last_run.newest_good(tmp_path / "missing", "reference", now) is None


def test_a_run_that_left_out_what_is_asked_now_is_no_last_good_run(tmp_path: Path) -> None:
    part = msgspec.structs.replace(started([passed(A)]), left_out=(LeftOut(B, "not selected"),))
    good(tmp_path / "20261121-1", [passed(A), passed(B)])
    good(tmp_path / "20261122-1", [passed(A)], part)

    def newest(*results: CaseResult) -> str:
        found = last_run.newest_good(tmp_path, "reference", started(list(results)))
        return found.folder.name if found else ""

    assert newest(passed(A), passed(B)) == "20261121-1"
    assert newest(passed(A), absent(f"{B}@stop-1")) == "20261121-1"
    assert newest(passed(A), passed(C)) == "20261122-1", "a case that is newer than the run is no reason"


def test_a_run_that_is_named_though_no_gate_passed_it_is_compared_with_and_told(tmp_path: Path) -> None:
    leave(tmp_path, [failed(A)])
    (tmp_path / run_folder.NAME).touch()
    found = last_run.named(tmp_path)
    assert found is not None
    told = "the run to compare with is not known to have passed a gate; it ended with status 1"
    assert told in found.differs("reference", "smoke")


def test_what_failed_or_changed_runs_first(tmp_path: Path) -> None:
    infos = [CaseInfo(case.id, "", "must", (), text=text_hash(case)) for case in all_cases() if case.id != C]
    changed = [msgspec.structs.replace(info, text="another") if info.case == B else info for info in infos]
    run = msgspec.structs.replace(started([]), cases=tuple(changed))
    leave(tmp_path, [failed(A), unsure("fetch/inside-a-batch"), passed("offsets/by-time")], run)
    assert set(last_run.LastRun.read(tmp_path).to_run_first()) == {A, B, C, "fetch/inside-a-batch"}
    assert C in by_id()


def test_a_policy_is_read(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text('block = ["must", "should"]\ninconclusive = 2\nmin-decided = 80\n[areas]\nretention = []\n')
    read = policy.read(path)
    assert (read.block, read.inconclusive, read.min_decided, read.areas) == (
        ("must", "should"), 2, 80.0, {"retention": ()},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("blok = []", "unknown key `blok`.\n  Did you mean block"),
        ("[areas]\noffset = []", "unknown area `offset`.\n  Did you mean offsets"),
        ('block = ["most"]', '`block` is ["most"]; it is a list of the levels must, should, may, as in block'),
        ('block = "must"', '`block` is "must"; it is a list of the levels'),
        ('[areas]\noffsets = "must"', '`areas` is {"offsets": "must"}; each area has a list of the levels'),
        ("inconclusive = -1", "`inconclusive` is -1; it is at least 0"),
        ("retries = 1000", "`retries` is 1000"),
        ('retries = "x"', '`retries` is "x"; it is a whole number.'),
        ('min-decided = "most"', '`min-decided` is "most"; it is a number, in per cent.'),
        ('mended = "ignore"', '`mended` is "ignore"; it is block or warn.'),
        ("lost = false", "`lost` is false; it is block or warn."),
        ("block = ", "not valid TOML"),
    ],
)
def test_a_policy_that_is_wrong_is_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(text)
    with pytest.raises(UserError) as error:
        policy.read(path)
    assert said in str(error.value)
