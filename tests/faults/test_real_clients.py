"""Unmodified clients through the proxy, in front of the bundled broker: they work, faults reach them, leaks show."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from brokertrial.faults.apply import applied
from brokertrial.faults.clock import OperationClock
from brokertrial.faults.kinds.delay import delay
from brokertrial.faults.kinds.drop_response import drop_response
from brokertrial.faults.kinds.duplicate_request import duplicate_request
from brokertrial.faults.kinds.hold import hold
from brokertrial.faults.proxy_process import FaultProxy
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import at_op


class Notes:
    def __init__(self) -> None:
        self.rows: list[Any] = []

    def add(self, row: Any) -> None:
        self.rows.append(row)

    def event(self, kind: str, **fields: Any) -> None:
        self.rows.append((kind, fields))


@pytest.fixture(scope="module")
def broker() -> Iterator[int]:
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "brokertrial.reference_impl", "node", "--data", folder, "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=log,
        )
        try:
            assert process.stdout is not None
            yield int(json.loads(process.stdout.readline())["port"])
        finally:
            process.terminate()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


def read_all(bootstrap: str, topic: str, count: int, isolation: str = "read_uncommitted") -> list[bytes]:
    settings = {"bootstrap.servers": bootstrap, "group.id": f"g-{topic}", "auto.offset.reset": "earliest"}
    consumer = Consumer({**settings, "client.id": "reader", "isolation.level": isolation, "enable.auto.commit": False})
    consumer.subscribe([topic])
    found: list[bytes] = []
    end = time.monotonic() + 20
    while len(found) < count and time.monotonic() < end:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            found.append(message.value() or b"")
    quiet = consumer.poll(0.3)
    assert quiet is None or quiet.error(), "nothing more than was sent"
    consumer.close()
    return found


def test_lost_answers_and_duplicates_do_not_duplicate_what_an_idempotent_producer_sends(broker: int) -> None:
    schedule = Windows(
        drop_response(api="Produce", every=4, times=5),
        duplicate_request(api="Produce", every=3, times=5),
        delay(5, jitter_ms=5, api="Produce"),
        seed=11,
    )
    notes, clock, acked = Notes(), OperationClock(), []
    with FaultProxy.start([("127.0.0.1", broker)]) as links:
        settings = {"bootstrap.servers": links.bootstrap, "client.id": "p1", "enable.idempotence": True, "linger.ms": 0}
        producer = Producer({**settings, "retry.backoff.ms": 10, "reconnect.backoff.ms": 10, "log_level": 0})
        with applied(schedule, links, {}, notes, clock) as faults:
            for number in range(40):
                clock.tick()
                producer.produce("t1", b"%d" % number, on_delivery=lambda e, m: acked.append((e, m.offset())))
                producer.flush(20)
        assert faults.hits["f1"] == 5 and faults.hits["f2"] == 5 and faults.hits["f3"] >= 40
        assert faults.unhealed == {}
        assert acked == [(None, number) for number in range(40)]
        assert read_all(links.bootstrap, "t1", 40) == [b"%d" % number for number in range(40)]
        links.flush(last=True)
        links.drain(notes.add)
    batches = [row for row in notes.rows if type(row).__name__ == "Batch"]
    assert len(batches) == 50  # 40, and each of the five lost and the five doubled once more
    assert len({(b.producer_id, b.base_sequence, b.base_offset) for b in batches if b.error == 0}) == 40
    (owned,) = (row for row in notes.rows if type(row).__name__ == "Membership")
    assert (owned.group, owned.topic, owned.partition, owned.ended_by) == ("g-t1", "t1", 0, "closed")


def test_a_held_commit_arrives_when_the_window_ends(broker: int) -> None:
    schedule = Windows(hold(api="EndTxn", times=1, end=at_op(2)))
    clock = OperationClock()
    with FaultProxy.start([("127.0.0.1", broker)]) as links:
        settings = {"bootstrap.servers": links.bootstrap, "client.id": "tx", "transactional.id": "x1", "log_level": 0}
        producer = Producer(settings)
        producer.init_transactions(20)
        with applied(schedule, links, {}, Notes(), clock) as faults:
            producer.begin_transaction()
            producer.produce("t2", b"v")
            clock.tick()
            with pytest.raises(Exception, match=r"[Tt]imed out"):
                producer.commit_transaction(0.5)
            assert links.state()["waiting"] == 1
            clock.tick()
            producer.commit_transaction(20)
        assert faults.hits == {"f1": 1}
        assert read_all(links.bootstrap, "t2", 1, "read_committed") == [b"v"]


@pytest.mark.parametrize("addresses", ["rewrite", "leak"])
def test_a_client_that_goes_past_the_proxy_is_found(broker: int, addresses: str) -> None:
    with FaultProxy.start([("127.0.0.1", broker)], addresses=addresses) as links:
        producer = Producer(
            {
                "bootstrap.servers": links.bootstrap,
                "client.id": "p1",
                "statistics.interval.ms": 50,
                "stats_cb": lambda text: links.saw_client_statistics("p1", text),
            }
        )
        producer.produce("t3", b"v")
        assert producer.flush(20) == 0
        end = time.monotonic() + 10
        while not links.leaks() and time.monotonic() < end and addresses == "leak":
            producer.poll(0.1)
        producer.poll(0.2)
        assert [leak.address for leak in links.leaks()] == ([f"127.0.0.1:{broker}"] if addresses == "leak" else [])


def test_the_command_serves_in_the_foreground_and_says_what_is_wrong(broker: int) -> None:
    command = [sys.executable, "-P", "-m", "brokertrial.faults.proxy", "--upstream"]
    process = subprocess.Popen([*command, f"127.0.0.1:{broker}"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        while not lines[-1].startswith("bootstrap "):
            lines.append(process.stdout.readline())
        bootstrap = lines[-1].split()[1]
        taken = subprocess.run(
            [*command, f"127.0.0.1:{broker}", "--port", bootstrap.split(":")[1]],
            capture_output=True,
            text=True,
            check=False,
        )
        assert taken.returncode == 4 and "is in use" in taken.stderr
        producer = Producer({"bootstrap.servers": bootstrap})
        producer.produce("t4", b"v")
        assert producer.flush(20) == 0
    finally:
        process.terminate()
        assert process.wait(10) == 0
        if process.stdout is not None:
            process.stdout.close()
    wrong = subprocess.run([*command, "nowhere"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 4 and "not an address of the form host:port" in wrong.stderr
