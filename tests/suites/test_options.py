"""The options of a run: what cannot be run is one sentence, and everything comes back from the run folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import brokertrial
from brokertrial.suites.events import CaseFinished, RunEvent
from brokertrial.suites.running.bad_options import BadOptions
from brokertrial.suites.running.options import RunOptions
from brokertrial.suites.running.run import Enough, run
from brokertrial.suites.targets import TargetProblem

CASES = ("offsets/ends", "produce/base-offset")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"profile": "huge"}, "profile 'huge' is none of: smoke, full"),
        ({"keep": "some"}, "keep 'some' is none of: all, failed"),
        ({"min_decided": 101.0}, "min_decided 101 is no percentage"),
        ({"select": ("offsets/end",)}, "There is no case `offsets/end`.\n  Did you mean offsets/ends"),
        ({"claims": {"telepathy": True}}, "'telepathy' is no feature"),
        ({"require": ("telepathy",)}, "`telepathy` is no area"),
        ({"through": "no-such.json"}, "no-such.json"),
        ({"refute": True, "select": ("offsets/by-time-out-of-order",)}, "no edited answer in `detects`.\n  It is seen"),
    ],
)
def test_what_cannot_be_run_is_said_before_a_folder_is_made(
    words: dict[str, object], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadOptions) as found:
        run(RunOptions("reference", **words))  # type: ignore[arg-type]
    assert said in str(found.value)
    with pytest.raises(TargetProblem):
        run(RunOptions("refrence"))
    assert list(tmp_path.iterdir()) == []


def test_a_seed_is_drawn_once() -> None:
    drawn = RunOptions("reference").validated()
    assert drawn.seed is not None and drawn.validated() == drawn


def test_a_listener_may_have_seen_enough(tmp_path: Path) -> None:
    told: list[RunEvent] = []

    def look(event: RunEvent) -> None:
        told.append(event)
        if isinstance(event, CaseFinished):
            raise Enough

    result = run(RunOptions("reference", select=CASES, run_dir=str(tmp_path / "run"), unproven="fail"), look)
    assert [one.case for one in result.results] == [CASES[1]] and result.status == 0
    assert [type(event).__name__ for event in told] == ["RunStarted", "CaseStarted", "CaseFinished", "RunFinished"]


def test_a_caller_has_results_and_reports(tmp_path: Path) -> None:
    text = (
        "from brokertrial import RunOptions, run\n"
        f"options = RunOptions('reference?mutant=M07a', select={CASES!r}, runs={str(tmp_path)!r}, unproven='fail')\n"
        "result = run(options)\n"
        "print(result.status, sorted(one.case for one in result.results if one.is_failure), result.folder)\n"
    )
    done = subprocess.run([sys.executable, "-P", "-c", text], capture_output=True, text=True, timeout=120)
    (folder,) = tmp_path.iterdir()
    assert done.stdout == f"1 ['produce/base-offset'] {folder}\n", done.stdout + done.stderr
    assert "M07a" in (folder / "report.html").read_text(encoding="utf-8")


def test_the_package_offers_what_it_names_and_loads_it_on_demand() -> None:
    assert brokertrial.RunOptions is RunOptions
    with pytest.raises(AttributeError, match="has no attribute 'runs'"):
        brokertrial.runs  # noqa: B018
    text = (
        "import sys, brokertrial.wire; print([name for name in sys.modules if name.startswith('brokertrial.suites')])"
    )
    done = subprocess.run([sys.executable, "-P", "-c", text], capture_output=True, text=True, timeout=60)
    assert done.stdout == "[]\n"
