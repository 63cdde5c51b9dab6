"""What the cluster benches share: the control channel, waiting with a deadline, a history, the final read."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from histories.header import Header
from histories.recorder import Recorder
from histories.rows import Client, Operation, Record

QUICK = {"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200, "retry.backoff.ms": 20, "log_level": 0}


class Trouble(Exception):
    """What was waited for did not come."""


def control(cluster, node: int, **wanted: Any) -> Any:
    """One command over a node's control channel; node 0 is the controller."""
    folder = os.open(cluster.data_of(node), os.O_RDONLY | os.O_DIRECTORY)
    try:
        with socket.socket(socket.AF_UNIX) as channel:
            channel.connect(f"/proc/self/fd/{folder}/control.sock")
            channel.sendall(json.dumps(wanted).encode() + b"\n")
            return json.loads(channel.makefile().readline())
    finally:
        os.close(folder)


def placement(cluster, topic: str, index: int = 0) -> Any:
    """Leader, epoch and in-sync set of a partition, as the controller knows it."""
    found = control(cluster, 0, do="dump")["partitions"]
    return next(one for one in found if (one["topic"], one["partition"]) == (topic, index))


def wait_for(what: str, question: Callable[[], object], seconds: float = 30.0) -> None:
    """Returns when the question is answered with something true; Trouble names what did not come."""
    deadline, pulse = time.monotonic() + seconds, threading.Event()
    while not question():
        if time.monotonic() > deadline:
            raise Trouble(f"waited {seconds:g} s in vain for {what}")
        pulse.wait(0.01)


def revive(cluster) -> None:
    """Starts every broker that does not run."""
    for node in cluster.ports:
        if not cluster.runs(node):
            cluster.restart(node)


@contextmanager
def recorded(folder: Path, case: str, seed: int) -> Iterator[Recorder]:
    """A history of this bench, closed at the end."""
    header = Header(case=case, target="reference:3", nodes=3, seed=seed)
    with Recorder.create(folder, header) as recorder:
        yield recorder


def final_read(bootstrap: str, topic: str, recorder: Recorder) -> int:
    """Reads everything of partition 0 into the history; the offset of its end."""
    where = TopicPartition(topic, 0, 0)
    reader = Consumer({"bootstrap.servers": bootstrap, "group.id": "final", "enable.auto.commit": False, **QUICK})
    recorder.add(Client(client="reader", library="confluent-kafka", isolation="read_uncommitted", mode="assign"))
    _, end = reader.get_watermark_offsets(TopicPartition(topic, 0), timeout=30)
    reader.assign([where])
    last = -1

    def read_some() -> bool:
        nonlocal last
        op, call = recorder.next_op(), time.monotonic_ns()
        messages = [one for one in reader.consume(5000, 0.5) if not one.error()]
        if messages:
            recorder.add(
                Operation(
                    op=op, client="reader", kind="fetch", topic=topic, partition=0, call_ns=call,
                    return_ns=time.monotonic_ns(), outcome="ok", base_offset=messages[0].offset(), count=len(messages),
                )
            )  # fmt: skip
        for message in messages:
            recorder.add(
                Record(
                    op=op, client="reader", topic=topic, partition=0, offset=message.offset(),
                    value=int(message.value()), side="seen", stream=1, position=message.offset(), prev_offset=last,
                    outcome="ok",
                )
            )  # fmt: skip
            last = message.offset()
        return last + 1 >= end

    wait_for("the end of the log", read_some, 120)
    recorder.event("final-read", topic=topic, partition=0, offset=end)
    reader.close()
    return end
