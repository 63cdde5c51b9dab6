"""The whole command on the bundled broker: run, check, replay, tamper, interrupt, and a parent that is killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

COMMAND = str(Path(sys.executable).with_name("brokertrial"))
PATIENCE_S = 60.0


def brokertrial(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *arguments], cwd=folder, capture_output=True, text=True, timeout=240)


def until(what: str, holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, f"waited {PATIENCE_S:g} s in vain until {what}"
        time.sleep(0.02)


def only_run(folder: Path) -> Path:
    (run,) = (folder / "runs").iterdir()
    return run


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which one green run was made."""
    folder = tmp_path_factory.mktemp("made")
    done = brokertrial(folder, "run", "--target", "reference", "--select", "offsets/by-time-*", "--seed", "7")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_a_run_leaves_everything_that_was_promised(made: Path) -> None:
    run = only_run(made)
    names = {path.name for path in run.iterdir()}
    assert names >= {"run.json", "results.jsonl", "junit.xml", "summary.md", "report.html", "histories"}
    sealed = json.loads((run / "run.json").read_text(encoding="utf-8"))
    assert (sealed["complete"], sealed["status"], sealed["seed"]) == (True, 0, 7)
    assert "offsets/by-time-within-a-batch" in sealed["cases"]
    assert "protocol/" in "".join(sealed["left_out"])


def test_a_cluster_set_up_in_its_own_way_is_not_accused_of_that(tmp_path: Path) -> None:
    target = "reference?set=log.message.timestamp.type=LogAppendTime,compression.type=zstd"
    done = brokertrial(tmp_path, "run", "--target", target, "--select", "offsets/by-time-*", "--seed", "7")
    assert done.returncode == 0, done.stdout + done.stderr
    again = brokertrial(tmp_path, "check", f"runs/{only_run(tmp_path).name}")
    assert again.returncode == 0 and " now." not in again.stdout


def test_check_gives_the_same_verdicts_again(made: Path) -> None:
    run = only_run(made)
    first, second = (brokertrial(made, "check", f"runs/{run.name}") for _ in range(2))
    assert (first.returncode, first.stdout) == (0, second.stdout)
    assert " now." not in first.stdout
    one = brokertrial(made, "check", f"runs/{run.name}/offsets.by-time-within-a-batch")
    assert one.returncode == 0 and "1 passed" in one.stdout


def test_what_passed_is_dropped_on_request_and_then_not_judged_again(tmp_path: Path) -> None:
    cases = ("--select", "produce/base-offset", "--keep", "failed")
    assert brokertrial(tmp_path, "run", "--target", "reference", *cases).returncode == 0
    run = only_run(tmp_path)
    assert list((run / "histories").iterdir()) == []
    done = brokertrial(tmp_path, "check", str(run))
    assert done.returncode == 5 and "No history was kept" in done.stdout, done.stdout + done.stderr


def test_check_offers_the_nearest_case(made: Path) -> None:
    done = brokertrial(made, "check", f"runs/{only_run(made).name}/offsets.by-time-within-batch")
    assert done.returncode == 4
    assert "Did you mean offsets/by-time-within-a-batch" in done.stderr


def test_replay_says_how_many_of_how_many(made: Path) -> None:
    done = brokertrial(made, "replay", f"runs/{only_run(made).name}/offsets.by-time-within-a-batch", "--runs", "again")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Passed again: 1 of 1." in done.stdout


def test_a_part_of_a_history_that_was_cut_is_refused(made: Path, tmp_path: Path) -> None:
    copy = tmp_path / "cut"
    shutil.copytree(only_run(made), copy)
    part = next((copy / "histories").rglob("*.parquet"))
    part.write_bytes(part.read_bytes()[:-100])
    for place in (str(copy), str(copy / part.relative_to(copy / "histories").parts[0])):
        done = brokertrial(tmp_path, "check", place)
        assert (done.returncode, done.stdout) == (4, "")
        assert part.name in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_is_closed_readable_and_gone(tmp_path: Path, number: signal.Signals) -> None:
    process, run = started(tmp_path)
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2, out + err
    assert "exit status 2 = interrupted" in out
    assert json.loads((run / "run.json").read_text(encoding="utf-8"))["complete"]
    assert processes_of(run) == []


def test_a_run_whose_parent_is_killed_ends_by_itself(tmp_path: Path) -> None:
    process, run = started(tmp_path)
    process.kill()
    process.communicate(timeout=PATIENCE_S)
    until("every process of the run is gone", lambda: processes_of(run) == [])
    assert json.loads((run / "run.json").read_text(encoding="utf-8"))["status"] == 2


def test_an_unreachable_cluster_is_status_7(tmp_path: Path) -> None:
    began = time.monotonic()
    done = brokertrial(tmp_path, "run", "--target", "bootstrap:127.0.0.1:1")
    assert done.returncode == 7
    assert "bootstrap:127.0.0.1:1 did not answer" in done.stdout
    assert time.monotonic() - began < PATIENCE_S, "15 s on a machine at rest: tests/targets/test_bootstrap.py"


def started(folder: Path) -> tuple[subprocess.Popen[str], Path]:
    """A run that has begun its first case. Its folder has the seed in its name: no other test's is named alike."""
    arguments = [COMMAND, "run", "--target", "reference", "--profile", "full", "--seed", "4711"]
    process = subprocess.Popen(arguments, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until("the first case has begun", lambda: list(folder.glob("runs/*/histories/*")))
    return process, only_run(folder)


def processes_of(run: Path) -> list[str]:
    """The command lines of all processes that name the run folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            found += [command] if run.name in command else []
    return found
