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

from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from brokertrial.histories.header import Header
from brokertrial.histories.payload import KEYS
from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import Operation, Record
from brokertrial.reference_impl.broker.cluster import Cluster
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.trials.final_read import FinalRead

QUICK = {"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200, "retry.backoff.ms": 20, "log_level": 0}


class Trouble(Exception):
    """What was waited for did not come."""


def control(cluster: Cluster, node: int, **wanted: Any) -> Any:
    """One command over a node's control channel; node 0 is the controller."""
    folder = os.open(cluster.data_of(node), os.O_RDONLY | os.O_DIRECTORY)
    try:
        with socket.socket(socket.AF_UNIX) as channel:
            channel.connect(f"/proc/self/fd/{folder}/control.sock")
            channel.sendall(json.dumps(wanted).encode() + b"\n")
            return json.loads(channel.makefile().readline())
    finally:
        os.close(folder)


def placement(cluster: Cluster, topic: str, index: int = 0) -> Any:
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


def all_in_sync(cluster: Cluster) -> bool:
    """Whether every partition of the cluster, internal ones too, has all its replicas in sync."""
    return all(len(one["isr"]) == len(one["replicas"]) for one in control(cluster, 0, do="dump")["partitions"])


def make_topic(cluster: Cluster, topic: str, partitions: int, config: dict[str, str]) -> None:
    """A topic of three copies, or of as many as there are nodes."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, **QUICK})
    for done in admin.create_topics([NewTopic(topic, partitions, min(3, len(cluster.ports)), config=config)]).values():
        done.result(30)


@contextmanager
def recorded(folder: Path, case: str, seed: int) -> Iterator[Recorder]:
    """A history of this bench, closed at the end."""
    header = Header(case=case, target="reference:3", nodes=3, seed=seed)
    with Recorder.create(folder, header) as recorder:
        yield recorder


def rows_of_send(
    client: str, op: int, where: tuple[str, int], value: int, position: int, call_ns: int, offset: int | None,
    *, txn: int | None = None, derived_from: int | None = None, transactional_id: str | None = None,
) -> tuple[Operation, Record]:  # fmt: skip
    """What a history says of one send that was just answered; without an offset nobody knows what came of it."""
    outcome = "info" if offset is None else "ok"
    shared: dict[str, Any] = {
        "op": op, "client": client, "topic": where[0], "partition": where[1], "outcome": outcome, "txn": txn,
    }  # fmt: skip
    return (
        Operation(
            **shared, kind="send", call_ns=call_ns, return_ns=time.monotonic_ns(), base_offset=offset, count=1,
            transactional_id=transactional_id,
        ),
        Record(
            **shared, offset=offset, value=value, key=value % KEYS, side="sent", position=position,
            derived_from=derived_from,
        ),
    )  # fmt: skip


def final_read(cluster: Cluster, places: list[tuple[str, int]], recorder: Recorder, *, transactions: bool) -> int:
    """Reads everything into the history, records and batches; how many offsets there are. Trouble: it could not."""
    wire = Wire.unrecorded(CaseContext(prefix="", case=""), [("127.0.0.1", port) for port in cluster.ports.values()])
    read = FinalRead(wire, recorder)
    read.everything(places, within_s=180.0, transactions=transactions)
    for place, why in {**read.incomplete, **read.hanging}.items():
        raise Trouble(f"the final read of {place[0]}-{place[1]} came to nothing: {why}")
    return sum(read.ends.values())
