"""A file: target made of the tiny broker."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from brokertrial.suites.targets import Target, open_target

TINY = Path(__file__).with_name("tiny_broker.py")

MakeTarget = Callable[..., Target]


def toml(**keys: object) -> str:
    """The keys as TOML; JSON's lists, strings and numbers are TOML too."""
    tables = {key: value for key, value in keys.items() if isinstance(value, dict)}
    lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items() if key not in tables]
    for name, table in tables.items():
        lines += [f"[{name}]", *(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in table.items())]
    return "\n".join(lines)


def tiny(*more: str, ports: str = "{port}") -> list[str]:
    """The command that starts the tiny broker."""
    return [sys.executable, "-P", str(TINY), ports, "{data}", *more]


@pytest.fixture
def broker_file(tmp_path: Path) -> Callable[..., str]:
    """Writes a broker.toml and returns its target string."""

    def write(**keys: object) -> str:
        path = tmp_path / "broker.toml"
        path.write_text(toml(**keys))
        return f"file:{path}"

    return write


@pytest.fixture
def file_target(tmp_path: Path, broker_file: Callable[..., str]) -> Iterator[MakeTarget]:
    """Opens (does not start) a target of the tiny broker; whatever it started is ended after the test."""
    opened: list[Target] = []

    def make(**keys: object) -> Target:
        given = {"start": tiny(), "ready": {"within_s": 30}, "stop": {"within_s": 10}, **keys}
        text = broker_file(**{key: value for key, value in given.items() if value is not None})
        opened.append(open_target(text, tmp_path / f"run-{len(opened)}"))
        return opened[-1]

    yield make
    for target in opened:
        target.stop()


def gone(pid: int) -> bool:
    """Whether no such process is left, or only its zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
