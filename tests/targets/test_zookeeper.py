"""Apache Kafka with a ZooKeeper: how its servers are set up, and that a real one serves and comes back."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from brokertrial.suites.probe.ensemble_watch import Watches
from brokertrial.suites.probe.znode import Znode
from brokertrial.suites.probe.zookeeper import ZooKeeperReader
from brokertrial.suites.targets import TargetNotReady, open_target, readiness
from brokertrial.suites.targets.apache import settings, zookeeper
from brokertrial.suites.targets.apache.settings import ClusterMember
from tests.targets.test_kafka import need_kafka

pytestmark = pytest.mark.long

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


def test_a_server_without_a_majority_answers_and_does_not_serve() -> None:
    said = b"This ZooKeeper instance is not currently serving requests\n"
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer_twice() -> None:
            for _ in range(2):
                connection, _ = server.accept()
                with connection:
                    connection.recv(4)
                    connection.sendall(said)

        thread = threading.Thread(target=answer_twice, daemon=True)
        thread.start()
        assert zookeeper.answers(server.getsockname()) == said
        with pytest.raises(readiness.NotYet, match="not currently serving"):
            zookeeper.serves(server.getsockname())
        thread.join(timeout=10)
    with pytest.raises(readiness.NotYet, match="does not answer"):
        zookeeper.answers(("127.0.0.1", 1))


@pytest.mark.kafka
def test_a_broker_that_was_killed_comes_back_when_its_session_has_ended(tmp_path: Path) -> None:
    need_kafka()
    with open_target("kafka:3.9.2?mode=zk", tmp_path) as target:
        assert target.version() == "3.9.2" and "zookeeper" in target.capabilities
        node = target.nodes[0]
        node.kill()
        node.restart()
        assert readiness.ask(node.address).brokers == {0: node.address}
        assert not target.claims["consumer-protocol"]


@pytest.mark.kafka
def test_a_further_broker_has_a_cluster_of_its_own_and_ends_with_the_target(tmp_path: Path) -> None:
    need_kafka()
    with open_target("kafka:3.9.2?mode=zk", tmp_path) as target:
        assert target.zookeeper is not None
        further = target.zookeeper.further_broker(0, "/beside")
        further.launch()
        further.wait_until_it_serves()
        assert readiness.ask(further.address).brokers == {0: further.address}
        assert readiness.ask(target.nodes[0].address).brokers == {0: target.nodes[0].address}
        further.kill()
        assert target.alive() and further.exit_status is not None
        second = target.zookeeper.further_broker(0, "")
        second.launch()
        with pytest.raises(TargetNotReady, match=r"node 0 exited with status 1 before it served"):
            second.wait_until_it_serves()
        left = target.zookeeper.further_broker(7, "/left")
        left.launch()
    assert not left.alive() and left.exit_status is not None


@pytest.mark.kafka
def test_watches_notice_what_lies_between_two_looks(tmp_path: Path) -> None:
    need_kafka()
    with open_target("kafka:3.9.2?mode=zk", tmp_path) as target:
        assert target.zookeeper is not None
        watches, reader = Watches(["/controller", "/none"], ["/brokers/ids"]), ZooKeeperReader(target.zookeeper)
        try:
            watches.begin(target.zookeeper.address)
            begun = [seen for _, seen in watches.take()]
            assert [seen.path for seen in begun] == [
                "session:",
                "node:/controller",
                "node:/none",
                "children:/brokers/ids",
            ]
            assert [seen.exists for seen in begun] == [True, True, False, True] and begun[3].children == ("0",)
            reader.delete("/controller")
            target.zookeeper.servers[1].terminate()
            target.zookeeper.servers[1].restart()
            found = [*_noticed(watches, lambda seen: seen.path == "session:" and seen.data == "connected")]
            later = [seen.czxid for seen in found if seen.path == "node:/controller" and seen.exists]
            assert all(czxid > begun[1].czxid for czxid in later)
            assert Znode("session:", True, "suspended") in found
        finally:
            reader.close()
            watches.end()
        left = [seen for _, seen in watches.take()]  # what came before the end may still be there
        assert Znode("session:", True, "lost") not in left and watches.take() == []


def _noticed(watches: Watches, last: Callable[[Znode], bool]) -> Iterator[Znode]:
    """Everything up to the last of it."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for _, seen in watches.take():
            yield seen
            if last(seen):
                return
        time.sleep(0.05)
    raise AssertionError("it was not noticed within 60 s")


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.parametrize("text", ["2.8.2?mode=zk", "3.3.2?mode=zk", "3.9.2?mode=zk&nodes=3&ensemble=3"])
def test_other_releases_and_an_ensemble_serve(text: str, tmp_path: Path) -> None:
    need_kafka()
    with open_target(f"kafka:{text}", tmp_path) as target:
        assert len(readiness.ask(target.nodes[0].address).brokers) == len(target.nodes)
