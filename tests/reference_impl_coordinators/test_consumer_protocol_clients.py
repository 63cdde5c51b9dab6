"""An unmodified librdkafka with `group.protocol=consumer`: members share, take over, leave and die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import pytest

from tests.reference_impl_coordinators.conftest import Process
from tests.reference_impl_coordinators.test_coordinator_clients import DEADLINE_S, fill, make_topic, poll_until, read

SESSION_S = 3
_IDLE_MEMBER = """
import sys
import confluent_kafka as ck
one = ck.Consumer({"bootstrap.servers": sys.argv[1], "group.id": sys.argv[2], "group.protocol": "consumer"})
one.subscribe([sys.argv[3]])
while True:
    one.poll(0.2)
    print(len(one.assignment()), flush=True)
"""


@contextmanager
def member(bootstrap: str, group: str, topic: str, **config: Any) -> Iterator[ck.Consumer]:
    one = ck.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": group, "group.protocol": "consumer",
         "auto.offset.reset": "earliest", "enable.auto.commit": False, **config}
    )  # fmt: skip
    one.subscribe([topic])
    try:
        yield one
    finally:
        one.close()


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A broker whose KIP-848 sessions end soon."""
    one = Process(
        tmp_path_factory.mktemp("kip848") / "data", "--set", f"group.consumer.session.timeout.ms={SESSION_S * 1000}"
    )
    try:
        yield one.start().bootstrap
    finally:
        one.kill()


def owned(*members: ck.Consumer) -> list[list[int]]:
    return [sorted(part.partition for part in one.assignment()) for one in members]


def read_together(count: int, *members: ck.Consumer) -> list[bytes]:
    """So many records, whoever of the members gets them."""
    seen: list[bytes] = []

    def enough() -> bool:
        for one in members:
            message = one.poll(0.05)
            if message is not None and not message.error():
                seen.append(message.value() or b"")
        return len(seen) >= count

    poll_until(f"{count} records", enough)
    return seen


def test_three_members_share_and_take_over_from_those_who_leave(bootstrap: str) -> None:
    make_topic(bootstrap, "three", 6)
    fill(bootstrap, "three", 60)
    with member(bootstrap, "three", "three") as one:
        read(one, 60)
        one.commit(asynchronous=False)
        with member(bootstrap, "three", "three") as two, member(bootstrap, "three", "three") as three:
            everybody = (one, two, three)
            poll_until("two partitions each", lambda: [len(o) for o in owned(*everybody)] == [2, 2, 2], *everybody)
            assert sorted(p for parts in owned(*everybody) for p in parts) == list(range(6))
            fill(bootstrap, "three", 30)
            assert sorted(map(int, read_together(30, *everybody))) == list(range(30))
        poll_until("everything again", lambda: len(one.assignment()) == 6, one)
        places = one.committed([ck.TopicPartition("three", p) for p in range(3)], DEADLINE_S)
        assert [place.offset for place in places] == [20, 20, 20]


def test_a_member_that_dies_is_expelled_after_its_session(bootstrap: str) -> None:
    make_topic(bootstrap, "dies")
    with member(bootstrap, "dies", "dies") as one:
        poll_until("all partitions", lambda: len(one.assignment()) == 3, one)
        command = [sys.executable, "-c", _IDLE_MEMBER, bootstrap, "dies", "dies"]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            poll_until("a share for the other", lambda: len(one.assignment()) < 3, one)
            os.kill(child.pid, signal.SIGKILL)
            child.wait(DEADLINE_S)
            poll_until("the share of the dead", lambda: len(one.assignment()) == 3, one)
        finally:
            child.kill()
            child.wait(DEADLINE_S)
            if child.stdout is not None:
                child.stdout.close()


def test_a_group_outlives_a_kill_of_the_broker(tmp_path: Path) -> None:
    process = Process(tmp_path / "data")
    try:
        port = process.start().bootstrap.rsplit(":", 1)[1]
        make_topic(process.bootstrap, "kill")
        fill(process.bootstrap, "kill", 30)
        with member(process.bootstrap, "kill", "kill", **{"reconnect.backoff.max.ms": 200}) as one:
            read(one, 30)
            one.commit(asynchronous=False)
            process.kill()
            process.start("--port", port)
            fill(process.bootstrap, "kill", 3)
            assert sorted(map(int, read(one, 3))) == [0, 1, 2]
            one.commit(asynchronous=False)
            places = one.committed([ck.TopicPartition("kill", p) for p in range(3)], DEADLINE_S)
            assert [place.offset for place in places] == [11, 11, 11]
    finally:
        process.kill()


def test_offsets_of_the_new_protocol_go_into_a_transaction(bootstrap: str) -> None:
    make_topic(bootstrap, "etl-in")
    make_topic(bootstrap, "etl-out")
    fill(bootstrap, "etl-in", 9)
    producer = ck.Producer({"bootstrap.servers": bootstrap, "transactional.id": "etl-848"})
    producer.init_transactions(DEADLINE_S)
    with member(bootstrap, "etl-848", "etl-in") as source:
        batch = read(source, 9)
        producer.begin_transaction()
        for value in batch:
            producer.produce("etl-out", value, partition=0)
        positions = [p for p in source.position(source.assignment()) if p.offset >= 0]
        producer.send_offsets_to_transaction(positions, source.consumer_group_metadata(), DEADLINE_S)
        producer.commit_transaction(DEADLINE_S)
        places = source.committed([ck.TopicPartition("etl-in", p) for p in range(3)], DEADLINE_S)
        assert [place.offset for place in places] == [3, 3, 3]


def test_a_pattern_finds_topics_that_come_later(bootstrap: str) -> None:
    make_topic(bootstrap, "late-1", 1)
    with member(bootstrap, "pattern", "^late-.*") as one:
        poll_until("the first topic", lambda: len(one.assignment()) == 1, one)
        make_topic(bootstrap, "late-2", 2)
        poll_until("the later topic", lambda: len(one.assignment()) == 3, one)
