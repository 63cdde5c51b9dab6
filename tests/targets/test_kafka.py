"""Apache Kafka itself as a target; and what is said when the machine lacks something for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from brokertrial.suites.since import number
from brokertrial.suites.targets import Target, TargetNotAvailable, TargetProblem, UnknownTarget, open_target, readiness
from brokertrial.suites.targets.apache import jars, jvm
from brokertrial.suites.targets.cache import cache_folder
from brokertrial.suites.targets.doctor import examine

VERSION = "4.4.0"


def need_kafka() -> None:
    try:
        jvm.find("kafka:")
        jars.fetched(VERSION)
    except TargetNotAvailable as lacking:
        pytest.skip(str(lacking))


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    need_kafka()
    with open_target(f"kafka:{VERSION}", tmp_path_factory.mktemp("kafka")) as target:
        yield target


@pytest.mark.kafka
def test_one_node_serves(kafka: Target) -> None:
    assert kafka.version() == VERSION and kafka.alive()
    assert readiness.ask(kafka.nodes[0].address).brokers == {0: kafka.nodes[0].address}
    assert readiness.ask(kafka.nodes[0].address).version.startswith("not stated (metadata.version ")
    assert all(kafka.claims.values())


@pytest.mark.kafka
def test_it_says_why_it_stopped_and_comes_back(kafka: Target) -> None:
    import time

    node = kafka.nodes[0]
    begun = time.monotonic_ns()
    node.terminate()
    assert not node.alive()
    said = [line.text for line in kafka.log_lines(begun, time.monotonic_ns())]
    assert any("shut down completed" in text for text in said), said[-5:]
    node.restart()
    assert kafka.alive()


@pytest.mark.kafka
def test_controllers_are_processes_of_their_own(tmp_path: Path) -> None:
    need_kafka()
    with open_target(f"kafka:{VERSION}?controllers=1", tmp_path) as target:
        assert readiness.ask(target.nodes[0].address).brokers == {0: target.nodes[0].address}
        (controller,) = target.controllers.values()
        controller.kill()
        assert target.nodes[0].pid is not None and not target.alive()
        with pytest.raises(readiness.NotYet):
            readiness.controller_decides(target.nodes[0].address)
        controller.restart()
        readiness.controller_decides(target.nodes[0].address)
        assert target.alive()


@pytest.mark.kafka
@pytest.mark.slow
def test_three_nodes_can_be_hurt_one_by_one() -> None:
    need_kafka()
    found = {finding.ability: finding for finding in examine(f"kafka:{VERSION}?nodes=3")}
    for ability in (
        "start",
        "version",
        "ready",
        "create topics",
        "logs",
        "kill",
        "terminate",
        "restart",
        "pause",
        "stop",
    ):
        assert found[ability].state == "works", found[ability]


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.parametrize("nodes", [1, 3])
@pytest.mark.parametrize("version", ["3.3.2", "3.8.1", "4.0.0"])
def test_an_older_release_serves_and_claims_what_it_has(version: str, nodes: int, tmp_path: Path) -> None:
    need_kafka()
    with open_target(f"kafka:{version}?nodes={nodes}", tmp_path) as target:
        assert len(readiness.ask(target.nodes[0].address).brokers) == nodes
        assert target.release_number == number(version)
        assert target.claims["consumer-protocol"] is (version == "4.0.0") and not target.claims["share-groups"]


@pytest.mark.kafka
def test_an_unpacked_kafka_is_taken_as_it_is(tmp_path: Path) -> None:
    need_kafka()
    folder = tmp_path / "kafka"
    folder.mkdir()
    (folder / "libs").symlink_to(cache_folder() / "kafka" / VERSION)
    with open_target(f"kafka:{folder}", tmp_path / "run") as target:
        assert target.version() == VERSION


def test_a_folder_without_kafka_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(fake_java(tmp_path, "17.0.1").parent), prepend=os.pathsep)
    with pytest.raises(UnknownTarget, match=r"is no unpacked Kafka: it has no libs/kafka_2.13-VERSION.jar"):
        open_target(f"kafka:{tmp_path}", tmp_path / "run").start()


def fake_java(folder: Path, version: str) -> Path:
    path = folder / "java"
    path.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2020-01-01' >&2\n")
    path.chmod(0o755)
    return path


def alone_on_the_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{folder}:/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    (folder / "sh").symlink_to(Path("/bin/sh"))


def test_an_old_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path, "11.0.2")
    alone_on_the_path(tmp_path, monkeypatch)
    with pytest.raises(TargetNotAvailable) as refused:
        open_target("kafka:4.4.0", tmp_path / "run").start()
    assert refused.value.sentence == "kafka:4.4.0 needs Java 17 or newer; `java` on the PATH is 11.0.2."
    assert "pip install brokertrial[java]" in refused.value.hint
    assert refused.value.exit_status == 7


def test_no_java_at_all_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone_on_the_path(tmp_path, monkeypatch)
    with pytest.raises(TargetNotAvailable, match="there is no `java` on the PATH"):
        open_target("kafka:4.4.0", tmp_path / "run").start()


def test_no_maven_is_said_with_the_other_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path, "21.0.1")
    alone_on_the_path(tmp_path, monkeypatch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(TargetNotAvailable, match="there is no `mvn` on the PATH") as refused:
        open_target("kafka:4.4.0", tmp_path / "run").start()
    assert "folder of an unpacked Kafka" in refused.value.hint
    assert not list((tmp_path / "cache").rglob("*.jar"))


@pytest.mark.parametrize(("text", "major"), [("17.0.15", 17), ("21", 21), ("1.8.0_402", 8), ("25.0.2", 25)])
def test_versions_of_java_are_understood(text: str, major: int, tmp_path: Path) -> None:
    java = jvm.examine(fake_java(tmp_path, text))
    assert java is not None and java.major == major


NOT_FOUND = "[ERROR] ... Could not find artifact org.apache.kafka:kafka_2.13:jar:4.4.99 in central"
NOT_FOUND_BEFORE = (
    "[ERROR] ... org.apache.kafka:kafka_2.13:jar:4.4.99 was not found in central during a previous attempt"
)


@pytest.mark.parametrize(
    ("said", "problem", "words"),
    [
        (
            "[ERROR] Connection refused",
            TargetNotAvailable,
            r"could not fetch Kafka 4\.4\.99: \[ERROR\] Connection refused",
        ),
        (NOT_FOUND, UnknownTarget, r"kafka:4\.4\.99: Maven Central has no such release"),
        (NOT_FOUND_BEFORE, UnknownTarget, r"kafka:4\.4\.99: Maven Central has no such release"),
    ],
)
def test_maven_that_fails_is_understood(
    said: str, problem: type[TargetProblem], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_java(tmp_path, "21.0.1")
    alone_on_the_path(tmp_path, monkeypatch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "mvn").write_text(f"#!/bin/sh\necho '{said}'; exit 1\n")
    (tmp_path / "mvn").chmod(0o755)
    with pytest.raises(problem, match=words):
        open_target("kafka:4.4.99", tmp_path / "run").start()
    assert not list((tmp_path / "cache" / "brokertrial" / "kafka").iterdir()), "nothing half made stays"
