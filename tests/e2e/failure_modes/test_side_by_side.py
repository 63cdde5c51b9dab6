"""Two runs on one machine, from one folder, at the same time: each has its own broker, ports, run folder, verdicts."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.e2e.failure_modes.runs import COMMAND

CASES = ("--select", "idempotence/lost-ack", "--select", "offsets/by-time-within-a-batch", "--seed", "7")


def test_two_runs_share_nothing(tmp_path: Path) -> None:
    targets = {"reference": 0, "reference?mutant=M30b": 1}
    runs = {
        target: subprocess.Popen(
            [COMMAND, "run", "--target", target, *CASES],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for target in targets
    }
    said = {target: process.communicate(timeout=240)[0] for target, process in runs.items()}
    for target, status in targets.items():
        assert runs[target].returncode == status, said[target]
        assert f"{2 - status} passed, {status} failed" in said[target]

    folders = [path for path in (tmp_path / "runs").iterdir() if path.is_dir() and not path.is_symlink()]
    assert len(folders) == 2
    told = [json.loads((folder / "run.json").read_text()) for folder in folders]
    assert {run["target"] for run in told} == set(targets)
