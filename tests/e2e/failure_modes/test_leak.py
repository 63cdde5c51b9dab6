"""A client that goes around the proxy: no fault reaches it, so that the run names it and is not green."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from brokertrial.ci.child import command
from brokertrial.suites.running.plugin import arguments
from brokertrial.suites.targets import open_target

INCONCLUSIVE_ONLY = 6


def test_a_client_past_the_proxy_is_named(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    run_dir.mkdir()
    with open_target("reference", tmp_path / "theirs") as theirs:
        options = ["--target", f"bootstrap:{theirs.bootstrap}", "--select", "fetch/cut-reader", "--profile", "smoke"]
        options += ["-p", "bypassing"]
        environment = os.environ | {
            "PYTHONPATH": str(Path(__file__).parent),
            "PAST_THE_PROXY": theirs.bootstrap,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }
        done = subprocess.run(
            command(run_dir, options, arguments()), env=environment, capture_output=True, text=True, timeout=240
        )
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == INCONCLUSIVE_ONLY, said
    assert "client bypassed the proxy: a client went around the proxy: client 'r1" in said, said
    assert f"requests to {theirs.bootstrap}, past the proxy." in said, said
    assert "0 passed, 0 failed, 1 inconclusive (leak 1)" in said, said
