"""`brokertrial doctor`: what this machine can do, and whether a target can do what it says."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from ci.abilities import try_all
from ci.trouble import FAILED, PASSED
from suites.targets import TargetProblem, open_target
from suites.targets.apache import jvm


@dataclass(frozen=True)
class Finding:
    """One thing that a machine has or lacks, and what the lack costs."""

    name: str
    found: str
    cost: str


def doctor(target: str | None, clean: str | None) -> int:
    """Prints what was found; 1 when the target cannot do what it says that it can."""
    if clean:
        from ci.clean import clean as command

        return command(clean)
    if target:
        return _examine(target)
    for finding in machine():
        click.echo(f"{finding.name:<12} {finding.found or 'missing: ' + finding.cost}")
    return PASSED


def machine() -> Iterator[Finding]:
    """Everything that a run may want from this machine."""
    yield Finding("Python", f"{sys.version.split()[0]}, {sys.platform}", "")
    yield Finding("cores", str(os.cpu_count() or ""), "unknown")
    yield Finding("Java", _java(), "no `kafka:` targets. Java 17 or newer, or `pip install brokertrial[java]`")
    yield Finding("Maven", _said("mvn", "--version"), "`kafka:VERSION` cannot be fetched; `kafka:FOLDER` still works")
    yield Finding("Docker", _said("docker", "version", "--format", "{{.Server.Version}}"), "no brokers in containers")
    yield Finding("Go", _said("go", "version"), "nothing that is built today needs it")
    yield Finding("pyspark", _package("pyspark"), "no analysis on Spark: `pip install brokertrial[spark]`")
    yield Finding("disk here", f"{shutil.disk_usage('.').free / 2**30:.1f} GiB free", "")


def _examine(text: str) -> int:
    """Starts the target once and tries every ability."""
    works = True
    with tempfile.TemporaryDirectory(prefix="brokertrial-doctor-") as folder, open_target(text, Path(folder)) as target:
        click.echo(f"{text} serves at {target.bootstrap}")
        for ability in try_all(target):
            works &= ability.outcome != "does not work"
            click.echo(f"{ability.name:<14} {ability.outcome:<14} {ability.detail}".rstrip())
    return PASSED if works else FAILED


def _java() -> str:
    try:
        java = jvm.find("kafka:")
    except TargetProblem:
        return ""
    return f"{java.version} ({java.path})"


def _said(*command: str) -> str:
    """The first line that a program prints of itself; empty when it is not there or fails."""
    if shutil.which(command[0]) is None:
        return ""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip().partition("\n")[0]


def _package(name: str) -> str:
    return "installed" if importlib.util.find_spec(name) else ""
