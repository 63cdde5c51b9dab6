"""Three brokers and a controller as processes: a client sees a killed leader, a lost coordinator, a power cut."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from brokertrial.reference_impl.broker.cluster import Cluster
from campaigns.kills.support import control, placement
from tests.reference_impl.brokers import Deadline

QUICK = {"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200, "retry.backoff.ms": 20, "log_level": 0}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    running = Cluster(tmp_path_factory.mktemp("cluster"), 3, 0, ["--set", "flush.mode=always"])
    try:
        running.start()
        yield running
    finally:
        running.stop()


def all_know_each_other(cluster: Cluster) -> None:
    """A client drops the brokers that Metadata does not name, and with one of them the request that waited there."""
    for port in cluster.ports.values():
        admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}", **QUICK})
        waiting = Deadline(f"the broker at port {port} names all of them")
        while len(admin.list_topics(timeout=20).brokers) < len(cluster.ports) and waiting:
            time.sleep(0.02)


def make(cluster: Cluster, topic: str) -> None:
    all_know_each_other(cluster)
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, **QUICK})
    admin.list_topics(timeout=20)  # once it knows the brokers, what waits at the bootstrap address is lost (-137)
    wanted = NewTopic(topic, 1, 3, config={"min.insync.replicas": "2"})
    for done in admin.create_topics([wanted]).values():
        done.result(20)


def write(producer: Producer, topic: str, values: range) -> dict[int, int]:
    """Sends values; offset by value of those acknowledged, which must be all."""
    acked: dict[int, int] = {}

    def delivered(error: Any, message: Any) -> None:
        assert error is None, error
        acked[int(message.value())] = message.offset()

    for value in values:
        producer.produce(topic, value=b"%d" % value, partition=0, on_delivery=delivered)
    assert producer.flush(30) == 0
    assert len(acked) == len(values)
    return acked


def read(cluster: Cluster, topic: str, count: int) -> dict[int, int]:
    """Value by offset of the first records."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "reader", **QUICK})
    consumer.assign([TopicPartition(topic, 0, 0)])
    seen: dict[int, int] = {}
    waiting = Deadline(f"{count} records of {topic}")
    while len(seen) < count and waiting:
        for message in consumer.consume(500, 0.2):
            if not message.error():
                seen[message.offset()] = int(message.value())
    consumer.close()
    return seen


def wait_for_full_isr(cluster: Cluster, topic: str) -> None:
    waiting = Deadline(f"all replicas of {topic} in sync")
    while len(placement(cluster, topic)["isr"]) < 3 and waiting:
        time.sleep(0.02)


def test_a_killed_leader_is_replaced_and_nothing_is_lost(cluster: Cluster) -> None:
    make(cluster, "kill")
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True, **QUICK})
    acked = write(producer, "kill", range(100))
    leader = placement(cluster, "kill")["leader"]
    cluster.kill(leader)
    acked |= write(producer, "kill", range(100, 200))
    assert placement(cluster, "kill")["leader"] != leader
    cluster.restart(leader)
    wait_for_full_isr(cluster, "kill")
    seen = read(cluster, "kill", 200)
    assert {value: offset for offset, value in seen.items()} == acked


def test_a_power_cut_takes_nothing_that_others_have(cluster: Cluster) -> None:
    make(cluster, "cut")
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True, **QUICK})
    acked = write(producer, "cut", range(50))
    leader = placement(cluster, "cut")["leader"]
    cluster.kill(leader)
    command = [
        sys.executable,
        "-P",
        "-m",
        "brokertrial.reference_impl",
        "powercut",
        str(cluster.data_of(leader)),
        "--torn",
        "7",
    ]
    subprocess.run(command, check=True, capture_output=True)
    acked |= write(producer, "cut", range(50, 100))
    cluster.restart(leader)
    wait_for_full_isr(cluster, "cut")
    control(cluster, 0, do="move_leader", topic="cut", partition=0, to=leader)
    waiting = Deadline(f"broker {leader} to lead")
    while placement(cluster, "cut")["leader"] != leader and waiting:
        time.sleep(0.02)
    seen = read(cluster, "cut", 100)
    assert {value: offset for offset, value in seen.items()} == acked


def test_a_group_outlives_its_coordinator(cluster: Cluster) -> None:
    make(cluster, "group")
    producer = Producer({"bootstrap.servers": cluster.bootstrap, **QUICK})
    write(producer, "group", range(10))
    config = {"bootstrap.servers": cluster.bootstrap, "group.id": "g", "enable.auto.commit": False, **QUICK}
    consumer = Consumer(config | {"auto.offset.reset": "earliest"})
    consumer.subscribe(["group"])
    waiting, seen = Deadline("ten records"), 0
    while seen < 10 and waiting:
        seen += sum(not message.error() for message in consumer.consume(10, 0.2))
    consumer.commit(asynchronous=False)
    offsets = [p for p in control(cluster, 0, do="dump")["partitions"] if p["topic"] == "__consumer_offsets"]
    cluster.kill(offsets[0]["leader"])
    dead = offsets[0]["leader"]
    place = consumer.committed([TopicPartition("group", 0)], 30)[0]
    assert place.offset == 10
    consumer.close()
    cluster.restart(dead)


def test_moving_a_coordinator_over_the_control_channel(cluster: Cluster) -> None:
    make(cluster, "moved")
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": "mover", **QUICK})
    producer.init_transactions(30)
    wait_for_full_isr(cluster, "__transaction_state")
    for to in (1, 2, 3):
        producer.begin_transaction()
        producer.produce("moved", value=b"%d" % to)
        moved = control(cluster, 0, do="move_coordinator", transactional_id="mover", to=to)
        assert moved["ok"] or moved["error"].startswith("broker"), moved
        producer.commit_transaction(30)
    assert sorted(read(cluster, "moved", 3).values()) == [1, 2, 3]


def test_deleted_records_are_deleted_on_every_living_replica(cluster: Cluster) -> None:
    """KIP-107: the answer waits until the followers have the new start; while one has not, it is a timeout."""
    make(cluster, "trimmed")
    write(Producer({"bootstrap.servers": cluster.bootstrap, **QUICK}), "trimmed", range(6))
    wait_for_full_isr(cluster, "trimmed")
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, **QUICK})
    leader = placement(cluster, "trimmed")["leader"]
    follower = next(node for node in (1, 2, 3) if node != leader)

    def delete(before: int, within_s: float) -> Any:
        (done,) = admin.delete_records([TopicPartition("trimmed", 0, before)], operation_timeout=within_s).values()
        return done

    delete(2, 20).result(30)
    starts = {node: start_of(cluster, node, "trimmed") for node in (1, 2, 3)}
    assert starts == {1: 2, 2: 2, 3: 2}

    control(cluster, follower, do="pause_replication")
    try:
        with pytest.raises(KafkaException) as refused:
            delete(4, 0.3).result(30)
        assert refused.value.args[0].code() == KafkaError.REQUEST_TIMED_OUT
        assert start_of(cluster, leader, "trimmed") == 4 and start_of(cluster, follower, "trimmed") == 2
    finally:
        control(cluster, follower, do="resume_replication")
    assert delete(4, 20).result(30).low_watermark == 4


def start_of(cluster: Cluster, node: int, topic: str) -> int:
    found = control(cluster, node, do="dump")["partitions"]
    return int(next(one["start"] for one in found if one["topic"] == topic))


def test_the_control_channel_says_what_is_wrong(cluster: Cluster) -> None:
    refused = control(cluster, 1, do="move_leader", topic="kill", partition=0, to=2)
    assert refused == {"ok": False, "error": "this is a broker: the controller moves leaders"}
    assert "there is no command 'dance'" in control(cluster, 1, do="dance")["error"]
    before = control(cluster, 1, do="advance_clock", seconds=0)["now_ms"]
    assert control(cluster, 1, do="advance_clock", seconds=60)["now_ms"] >= before + 60_000


def test_children_die_with_their_parent(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-P",
        "-m",
        "brokertrial.reference_impl",
        "--nodes",
        "2",
        "--data",
        str(tmp_path / "data"),
    ]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert parent.stdout is not None
    bootstrap = parent.stdout.readline().decode().removeprefix("bootstrap: ").strip()
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    waiting = Deadline("the brokers to end with their parent")
    while any(_listens(address) for address in bootstrap.split(",")) and waiting:
        time.sleep(0.02)


def _listens(address: str) -> bool:
    host, _, port = address.rpartition(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


def test_what_is_asked_while_the_controller_is_away_is_answered_when_it_is_back(cluster: Cluster) -> None:
    all_know_each_other(cluster)
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, **QUICK})
    cluster.kill(0)
    try:
        asked = admin.create_topics([NewTopic("meanwhile", 1, 3)], request_timeout=30)
    finally:
        cluster.restart(0)
    for done in asked.values():
        done.result(30)
    all_know_each_other(cluster)
    assert admin.list_topics("meanwhile", timeout=20).topics["meanwhile"].error is None
