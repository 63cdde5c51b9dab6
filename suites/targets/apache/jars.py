"""The jars of an Apache Kafka release: from Maven Central into the cache, or from an unpacked Kafka."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from brokertrial.suites.since import number
from brokertrial.suites.targets.base import TargetNotAvailable, UnknownTarget
from brokertrial.suites.targets.cache import cache_folder, make_once

OLDEST_KRAFT = (3, 3)
OLDEST_ZOOKEEPER = (2, 8)
"""The oldest release that is tried with a ZooKeeper; the newest that has one is 3.9 (KIP-500)."""
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_FETCH_WITHIN_S = 900
_NO_SUCH_RELEASE = (
    r"ould not find artifact org\.apache\.kafka:kafka_|kafka_2\.13:jar:\S+ was not found|No versions available"
)

_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
 <groupId>brokertrial</groupId><artifactId>kafka</artifactId><version>1</version><packaging>pom</packaging><dependencies>
 <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{version}</version>
  <exclusions><exclusion><groupId>org.apache.kafka</groupId><artifactId>kafka-tools-api</artifactId></exclusion></exclusions>
 </dependency>
 <dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{binding}</version></dependency>
</dependencies></project>
"""
# Without a binding a broker logs nothing at all, not even why it did not start. The API is SLF4J 1.7 in all of them.
_LOG4J_1 = ("org.slf4j", "slf4j-reload4j", "1.7.36")
_LOG4J_2 = ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4")


@dataclass(frozen=True, slots=True)
class KafkaRelease:
    """A Kafka that can be started: its version and its class path."""

    version: str
    jars: tuple[Path, ...]

    @property
    def class_path(self) -> str:
        """Sorted and absolute: a class archive serves one exact string."""
        return ":".join(str(jar) for jar in self.jars)

    @property
    def number(self) -> tuple[int, ...]:
        """`(4, 4, 0)` of 4.4.0."""
        return number(self.version)

    @property
    def has_dynamic_quorum(self) -> bool:
        """Whether the voters are part of the formatted storage (KIP-853), not a setting."""
        return self.number >= (3, 9)

    @property
    def runs_kraft(self) -> bool:
        """Whether its KRaft mode is meant for use (KIP-833)."""
        return self.number >= OLDEST_KRAFT

    @property
    def has_log4j_2(self) -> bool:
        """Whether it logs through log4j 2 (KIP-653)."""
        return self.number >= (4, 0)


def unpacked(folder: Path) -> KafkaRelease:
    """The Kafka whose release was unpacked there."""
    jars = tuple(sorted((folder / "libs").resolve().glob("*.jar")))
    version = _version_among(jars)
    if version is None:
        raise UnknownTarget(f"{folder} is no unpacked Kafka: it has no libs/kafka_2.13-VERSION.jar.")
    return KafkaRelease(version, jars)


def fetched(version: str) -> KafkaRelease:
    """The jars of this release, fetched by Maven the first time. `4.4` means the newest 4.4 that is there."""
    shelf = cache_folder() / "kafka"
    if version.count(".") == 1:
        have = [place.name for place in shelf.glob(f"{version}.*")]
        version = max(have, key=lambda name: int(name.rpartition(".")[2]), default=version)
    place = shelf / version
    if not place.exists():
        place = _fetch(version, shelf)
    jars = tuple(sorted(place.glob("*.jar")))
    return KafkaRelease(_version_among(jars) or version, jars)


def _fetch(version: str, shelf: Path) -> Path:
    maven = shutil.which("mvn")
    if maven is None:
        raise TargetNotAvailable(
            f"kafka:{version} needs Maven to fetch its jars; there is no `mvn` on the PATH.",
            hint="Install it, or name the folder of an unpacked Kafka: `kafka:/path/to/kafka_2.13-4.4.0`. "
            "`brokertrial doctor` lists all that this machine lacks.",
        )
    if version.count(".") == 2:
        return make_once(shelf / version, lambda folder: _copy(maven, version, folder))
    major, minor = version.split(".")
    newest = f"[{version},{major}.{int(minor) + 1}.0-alpha)"

    def copy(folder: Path) -> None:
        _copy(maven, newest, folder)

    scratch = make_once(shelf / f".newest-{version}", copy)
    found = _version_among(tuple(scratch.glob("*.jar")))
    if found is None:
        raise UnknownTarget(f"kafka:{version}: Maven Central has no such release.")
    if not (shelf / found).exists():
        scratch.replace(shelf / found)
    return shelf / found


def _copy(maven: str, version: str, folder: Path) -> None:
    group, artifact, binding = _LOG4J_1 if version.lstrip("[").startswith(("2.", "3.")) else _LOG4J_2
    pom = folder / "pom.xml"
    pom.write_text(_POM.format(version=version, group=group, artifact=artifact, binding=binding))
    command = [maven, "-B", "-q", "-f", str(pom), _COPY, "-DincludeScope=runtime", f"-DoutputDirectory={folder}"]
    try:
        done = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_FETCH_WITHIN_S
        )
    except subprocess.TimeoutExpired as error:
        raise TargetNotAvailable(f"Maven did not fetch Kafka {version} within {_FETCH_WITHIN_S} s.") from error
    if done.returncode:
        plain = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
        complaint = [line for line in plain.splitlines() if "ERROR" in line]
        if any(re.search(_NO_SUCH_RELEASE, line) for line in complaint):
            raise UnknownTarget(f"kafka:{version}: Maven Central has no such release.")
        said = complaint[0] if complaint else f"exit status {done.returncode}"
        raise TargetNotAvailable(f"Maven could not fetch Kafka {version}: {said}")


def _version_among(jars: tuple[Path, ...]) -> str | None:
    for jar in jars:
        if found := re.fullmatch(r"kafka_2\.1\d-(\d+\.\d+\.\d+.*)\.jar", jar.name):
            return found[1]
    return None
