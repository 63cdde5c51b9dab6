"""A broker that a kill and a pause do not reach: nothing passes, the run says so once, and nothing is left behind."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.e2e.failure_modes.runs import brokertrial, one_line, only_run

pytestmark = pytest.mark.long

OWN_SESSION = """
import os, sys
if os.fork():
    os.wait()
    sys.exit(0)
os.setsid()
os.execv(sys.executable, [sys.executable, "-P", "-m", "brokertrial.reference_impl", "node", *sys.argv[1:]])
"""
"""A wrapper, as `setsid --fork --wait`; the broker forgets its last batch in a crash."""
PLAIN = "commits/round-trip"
CASES = ("produce/crash-keeps-the-tail", "produce/acked-survive-a-kill", "produce/frozen-leader", f"{PLAIN}@crash-1")


def test_a_fault_that_reaches_no_broker_is_never_a_pass(tmp_path: Path) -> None:
    (tmp_path / "wrapper.py").write_text(OWN_SESSION)
    start = [sys.executable, "-P", str(tmp_path / "wrapper.py"), "--port={port}", "--data={data}", "--mutant=M02a"]
    (tmp_path / "broker.toml").write_text(f"start = {json.dumps(start)}\n")
    selected = [word for case in (PLAIN, *CASES) for word in ("--select", case)]
    done = brokertrial(tmp_path, "run", "--target", "file:broker.toml", "--seed", "3", *selected)
    assert done.returncode == 6, done.stdout + done.stderr
    said, run = one_line(done), only_run(tmp_path)
    assert said.count("4 cases are inconclusive because a fault did not reach the broker (node 0 was killed") == 1
    assert "a process still listens" not in said
    lines = [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]
    results = {line["result"]["case"]: line["result"] for line in lines if line["line"] == "result"}
    assert results.pop(PLAIN)["verdict"] == "pass"
    assert {name: row["reason"]["kind"] for name, row in results.items()} == dict.fromkeys(CASES, "out-of-reach")
    assert {len(row["attempts"]) for row in results.values()} == {1}, "another attempt would meet the same"
    checked = brokertrial(tmp_path, "check", str(run))
    assert checked.returncode == 6 and "4 inconclusive (out-of-reach 4)" in one_line(checked)
