"""The command of the bundled broker: what it refuses, and what it lists."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--set", "num.partition=3"], "num.partitions"),
        (["--set", "num.partitions=zero"], "num.partitions"),
        (["--without", "Nonsense"], "Nonsense"),
        (["--mutant", "M99"], "M99"),
        (["--emulate", "1.0"], "1.0"),
        (["--die-with-parent"], "must be a pipe"),
    ],
)
def test_wrong_arguments_are_one_clear_sentence(arguments: list[str], sentence: str, tmp_path: Any) -> None:
    command = [
        sys.executable,
        "-P",
        "-m",
        "brokertrial.reference_impl",
        "node",
        "--data",
        str(tmp_path / "d"),
        *arguments,
    ]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 4
    assert sentence in done.stderr.splitlines()[-1] and "Traceback" not in done.stderr


def test_the_planted_bugs_are_listed() -> None:
    command = [sys.executable, "-P", "-m", "brokertrial.reference_impl", "mutants", "--json"]
    listed = json.loads(subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout)
    assert {"M01a", "M05", "M06", "M07a", "M09", "M15a", "M17", "M30a", "M37a"} <= {bug["id"] for bug in listed}
