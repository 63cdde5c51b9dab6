"""The Java client of Apache Kafka 4.4.0, unmodified, against the bundled broker: both protocols, transaction.version 2.

The jars are those of the `kafka:4.4.0` target, fetched through Maven; the program is compiled here.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from brokertrial.suites.targets.apache import jars
from brokertrial.suites.targets.base import TargetNotAvailable
from tests.reference_impl_coordinators.conftest import Process

SOURCE = Path(__file__).with_name("TrialClient.java")
WITHIN_S = 240
FLAGS = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"]


def compiled(folder: Path) -> list[str]:
    """The command that runs the program; a machine without Java or the jars skips."""
    if shutil.which("javac") is None:
        pytest.skip("the Java client needs a JDK, and `javac` is not on the PATH")
    try:
        path = jars.fetched("4.4.0").class_path
    except TargetNotAvailable as missing:
        pytest.skip(f"the Java client needs the jars of Apache Kafka 4.4.0: {missing}")
    command = ["javac", "-J-XX:+UseSerialGC", "-proc:none", "-cp", path, "-d", str(folder), str(SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WITHIN_S, check=False)
    assert done.returncode == 0, done.stderr
    return ["java", *FLAGS, "-cp", f"{folder}:{path}", "TrialClient"]


def test_the_java_client_groups_and_transactions(process: Process, tmp_path: Path) -> None:
    command = compiled(tmp_path)
    process.start()
    done = subprocess.run([*command, process.bootstrap], capture_output=True, text=True, timeout=WITHIN_S, check=False)
    held = [line for line in done.stdout.splitlines() if line.startswith("held: ")]
    assert done.returncode == 0, f"{held}\n{done.stderr[-4000:]}"
    assert held == [
        "held: topics, transaction.version 2",
        "held: group.protocol consumer",
        "held: group.protocol classic",
        "held: exactly once",
    ]
