"""Run folders of an early version judge the same today: what is stored stays readable, and no verdict changes.

tests/ci/stored_runs/*.tar.xz are whole run folders, written by the version before classes and folders were renamed
(346e381): single requests and trials, on a sound broker, on ones with planted bugs, and on a test double. Their cases
have not changed since; where a case changes, `check` says that it does, and its folder is to be replaced.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from brokertrial.ci import run_folder
from brokertrial.ci.commands.check import check
from brokertrial.suites.exit_status import ExitStatus

STORED = sorted((Path(__file__).parent / "stored_runs").glob("*.tar.xz"))


@pytest.mark.parametrize("stored", STORED, ids=lambda path: path.name.removesuffix(".tar.xz"))
def test_it_judges_the_same(stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with tarfile.open(stored) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    sealed = run_folder.verify(folder)
    lines = (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()
    (result,) = [entry["result"] for line in lines if (entry := json.loads(line))["line"] == "result"]

    status = check(str(folder), form=None, engine="duckdb", assume="", strict=False, as_json=False)

    said = capsys.readouterr().out
    assert ", is now " not in said, said
    assert status == sealed["status"], said
    assert (result["verdict"] == "fail") == (status == ExitStatus.FAILED)


def test_there_are_ten() -> None:
    assert len(STORED) == 10
