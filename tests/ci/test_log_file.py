"""`--log-file`: every process of a run appends whole lines of JSON to one file, by the standard logging."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from brokertrial import logs
from brokertrial.suites.exit_status import ExitStatus

COMMAND = (sys.executable, "-P", "-c", "from brokertrial.ci.cli import main; main()")
TRIAL = "idempotence/lost-ack"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_every_process_of_a_run_says_what_it_does(tmp_path: Path) -> None:
    path = tmp_path / "all.log"
    words = ["run", "--target", "reference", "--select", TRIAL, "--runs", str(tmp_path), "--log-file", str(path)]
    done = subprocess.run([*COMMAND, *words], capture_output=True, text=True, check=False)
    assert done.returncode == ExitStatus.PASSED, done.stdout + done.stderr
    assert "INFO" not in done.stderr + done.stdout

    found = lines(path)

    assert {"command", "run", "proxy", "broker node 0"} <= {entry["process"] for entry in found}
    said = {(entry["process"], entry["message"]) for entry in found}
    assert {("run", "case begins"), ("run", "window-begin"), ("proxy", "serving"), ("run", "node is started")} <= said
    (ended,) = [entry for entry in found if entry["message"] == "case ends"]
    assert (ended["case"], ended["verdict"], ended["level"]) == (TRIAL, "pass", "info")


def test_without_the_option_nothing_is_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(logs.PATH, raising=False)
    before = list(logging.getLogger().handlers)
    logs.begin("run")
    assert logging.getLogger().handlers == before


def test_a_line_holds_what_varies_and_a_traceback(tmp_path: Path) -> None:
    handler = logs.FileOfLines(str(tmp_path / "one.log"), "run")
    try:
        raise ValueError("why")
    except ValueError:
        record = logging.getLogger("x").makeRecord(
            "x", logging.ERROR, "f", 1, "it %s", ("broke",), sys.exc_info(), extra={"node": 2, "path": Path("a")}
        )
    handler.emit(record)
    handler.close()
    (entry,) = lines(tmp_path / "one.log")
    assert (entry["message"], entry["level"], entry["node"], entry["path"]) == ("it broke", "error", 2, "a")
    assert "ValueError: why" in entry["traceback"]


def test_a_file_that_cannot_be_written_is_a_usage_error(tmp_path: Path) -> None:
    words = [*COMMAND, "targets", "--log-file", str(tmp_path / "none" / "x")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == ExitStatus.USAGE
    assert "cannot be written" in done.stderr
