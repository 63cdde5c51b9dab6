"""A broker that cannot read its own data again: each case that kills it fails, the others are judged all the same."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.e2e.failure_modes.runs import brokertrial, one_line, only_run

STARTS_ONCE = """
import os, sys
data = sys.argv[1]
if os.path.exists(data + "/started"):
    sys.exit("its index cannot be read")
os.makedirs(data, exist_ok=True)
open(data + "/started", "w").close()
command = [sys.executable, "-P", "-m", "brokertrial.reference_impl", "node", "--data", data + "/log", *sys.argv[2:]]
os.execv(sys.executable, command)
"""
KILLED = "offsets/ends-of-three-epochs"
LAST = "retention/segments-go-on-over-restarts"
CASES = ("offsets/ends", KILLED, "offsets/ends@crash-1", LAST)


def test_it_goes_on_without_its_data(tmp_path: Path) -> None:
    (tmp_path / "wrapper.py").write_text(STARTS_ONCE)
    start = [sys.executable, "-P", str(tmp_path / "wrapper.py"), "{data}", "--port={port}"]
    (tmp_path / "broker.toml").write_text(f"start = {json.dumps(start)}\n")
    selected = [word for case in CASES for word in ("--select", case)]
    done = brokertrial(tmp_path, "run", "--target", "file:broker.toml", "--seed", "3", *selected)
    assert done.returncode == 1, done.stdout + done.stderr
    run = only_run(tmp_path)
    lines = [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]
    results = {line["result"]["case"]: line["result"] for line in lines if line["line"] == "result"}
    assert {name: row["verdict"] for name, row in results.items()} == dict.fromkeys(CASES, "fail") | {CASES[0]: "pass"}
    assert {row["reason"]["kind"] for row in results.values() if row["reason"]} == {"died"}
    assert "could not be brought back" not in one_line(done)
    assert any("the cases that follow have a target without data" in text for text in results[KILLED]["warnings"])
    assert (run / "target" / "unread-data" / "node-1" / "started").is_file(), "the first of them is kept"
    assert "its index cannot be read" in (run / "report.html").read_text(encoding="utf-8")
