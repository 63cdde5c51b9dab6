"""A cluster of somebody else: theirs is left as it is, ours is gone, however the run ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.targets import Target, open_target
from tests.e2e.failure_modes.runs import COMMAND, begun, brokertrial, ended, only_run

CASES = ("--select", "commits/from-outside", "--select", "idempotence/lost-ack")


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """A broker with a topic and a group on it; their names begin like ours."""
    with open_target("reference", tmp_path_factory.mktemp("theirs")) as target:
        wire = _wire(target, "bt-theirs")
        topic = wire.new_topic()
        wire.commit("bt-group", topic, offset=7).must_succeed()
        yield target


def _wire(target: Target, prefix: str = "look") -> Wire:
    host, _, port = target.bootstrap.rpartition(":")
    return Wire.unrecorded(CaseContext(prefix=prefix, case="theirs"), [(host, int(port))])


def _there(target: Target) -> tuple[list[str], list[str]]:
    """The topics and groups on it, but for the broker's own."""
    wire = _wire(target)
    topics = sorted(row.name for row in wire.metadata(all_topics=True).struct.topics if not row.is_internal)
    return topics, sorted(row.group_id for row in wire.list_groups().struct.groups)


def test_theirs_stay_and_ours_go(theirs: Target, tmp_path: Path) -> None:
    before = _there(theirs)
    done = brokertrial(tmp_path, "run", "--target", f"bootstrap:{theirs.bootstrap}", *CASES)
    assert done.returncode == 0, done.stdout + done.stderr
    assert _there(theirs) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ours_go_when_a_fault_is_interrupted(theirs: Target, tmp_path: Path, number: signal.Signals) -> None:
    before = _there(theirs)
    process = _trial(theirs, tmp_path)
    process.send_signal(number)
    assert ended(process) == 2
    assert _there(theirs) == before
    checked = brokertrial(tmp_path, "check", str(only_run(tmp_path)))
    assert checked.returncode in (2, 6) and "interrupted" in checked.stdout, checked.stdout + checked.stderr


def test_what_a_killed_run_left_is_removed_by_doctor(theirs: Target, tmp_path: Path) -> None:
    before = _there(theirs)
    process = _trial(theirs, tmp_path)
    for pid in _children(process.pid):
        subprocess.run(["kill", "-9", str(pid)], check=False)
    process.kill()
    ended(process)
    assert _there(theirs) != before
    done = brokertrial(tmp_path, "doctor", "--clean", str(only_run(tmp_path)))
    assert done.returncode == 0 and "2 topics" in done.stdout, done.stdout + done.stderr
    assert _there(theirs) == before


def _trial(theirs: Target, folder: Path) -> subprocess.Popen[str]:
    """A run in the middle of a trial whose fault goes on for seconds."""
    arguments = ["run", "--target", f"bootstrap:{theirs.bootstrap}", "--select", "produce/cut-from-the-leader"]
    process = subprocess.Popen(
        [COMMAND, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    begun(folder, "window-begin")
    return process


def _children(parent: int) -> list[int]:
    if sys.platform != "linux":
        pytest.skip("children are found by /proc")
    return [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
