"""A client that goes around the proxy: no fault reaches it, so that the run names it and is not green."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from brokertrial.ci import child
from brokertrial.ci.commands.run import run
from brokertrial.suites.targets import open_target

INCONCLUSIVE_ONLY = 6


def test_a_client_past_the_proxy_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    script = str(Path(__file__).with_name("bypassing.py"))
    monkeypatch.setattr(child, "command", lambda folder, pipe: [sys.executable, "-P", script, str(folder), str(pipe)])
    with open_target("reference", tmp_path / "theirs") as theirs:
        monkeypatch.setenv("PAST_THE_PROXY", theirs.bootstrap)
        target = f"bootstrap:{theirs.bootstrap}"
        status = run(target=target, select=("fetch/cut-reader",), profile="smoke", runs=str(tmp_path / "runs"))
    out, err = capfd.readouterr()
    said = " ".join((out + err).split())
    assert status == INCONCLUSIVE_ONLY, said
    assert "client bypassed the proxy: a client bypassed the proxy: client 'consumer-1" in said, said
    assert f"requests to {theirs.bootstrap}, past the proxy." in said, said
    assert "0 passed, 0 failed, 1 inconclusive (leak 1)" in said, said
