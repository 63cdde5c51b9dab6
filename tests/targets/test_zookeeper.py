"""Apache Kafka with a ZooKeeper: how its servers are set up, and that a real one serves and comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokertrial.suites.targets import open_target, readiness
from brokertrial.suites.targets.apache import settings, zookeeper
from brokertrial.suites.targets.apache.settings import ClusterMember
from tests.targets.test_kafka import need_kafka

ENSEMBLE = zookeeper.members([2181, 2888, 3888, 2182, 2889, 3889, 2183, 2890, 3890])


def test_one_server_needs_no_ensemble(tmp_path: Path) -> None:
    path = zookeeper.prepare(ENSEMBLE[0], ENSEMBLE[:1], tmp_path / "zookeeper-1")
    lines = path.read_text().splitlines()
    assert "clientPort=2181" in lines and not any(line.startswith("server.") for line in lines)


def test_three_servers_know_each_other_and_themselves(tmp_path: Path) -> None:
    assert zookeeper.hosts(ENSEMBLE) == "127.0.0.1:2181,127.0.0.1:2182,127.0.0.1:2183"
    path = zookeeper.prepare(ENSEMBLE[2], ENSEMBLE, tmp_path / "zookeeper-3")
    assert "server.2=127.0.0.1:2889:3889" in path.read_text().splitlines()
    assert (tmp_path / "zookeeper-3" / "data" / "myid").read_text() == "3\n"


def test_a_broker_with_zookeeper_has_no_quorum() -> None:
    text = settings.zookeeper_text(ClusterMember(2, 9002, 9102), 3, "/data", "host:2181/kafka", ["a=b"])
    lines = text.splitlines()
    assert {"broker.id=2", "zookeeper.connect=host:2181/kafka", "min.insync.replicas=2", "a=b"} <= set(lines)
    assert not any(line.startswith(("process.roles", "node.id", "controller.quorum.voters")) for line in lines)


@pytest.mark.kafka
def test_a_broker_that_was_killed_comes_back_when_its_session_has_ended(tmp_path: Path) -> None:
    need_kafka()
    with open_target("kafka:3.9.2?mode=zk", tmp_path) as target:
        assert target.version() == "3.9.2" and "zookeeper" in target.capabilities
        node = target.nodes[1]
        node.kill()
        node.restart()
        assert readiness.ask(node.address).brokers == {1: node.address}
        assert not target.claims["consumer-protocol"]


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.parametrize("text", ["2.8.2?mode=zk", "3.3.2?mode=zk", "3.9.2?mode=zk&nodes=3&ensemble=3"])
def test_other_releases_and_an_ensemble_serve(text: str, tmp_path: Path) -> None:
    need_kafka()
    with open_target(f"kafka:{text}", tmp_path) as target:
        assert len(readiness.ask(target.nodes[1].address).brokers) == len(target.nodes)
