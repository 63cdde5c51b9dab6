"""How fast a reference cluster is: ready, failover, idle memory, throughput, against the targets of its design.

    python -m bench.three_nodes [--starts 5] [--failovers 20] [--megabytes 100]

Three nodes and a controller on loopback, replication factor 3. Every figure is of this machine and this moment: the
load beside each line says how busy it was. Throughput: one raw client, batches of 1 MiB, acks=all, one at a time and
four partitions at once; beside it a single node, the same client and the same bytes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

from brokertrial.reference_impl.broker.cluster import Cluster
from brokertrial.wire.client import Connection
from brokertrial.wire.messages import request
from brokertrial.wire.records import Record, build_batch
from brokertrial.wire.structs import Struct
from campaigns.kills.support import Trouble, make_topic, placement, wait_for

MIB = 1 << 20
_ONE = build_batch([Record(key=None, value=b"x", timestamp=1)])


def main() -> int:
    """Prints one line a figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--failovers", type=int, default=20)
    parser.add_argument("--megabytes", type=int, default=100)
    options = parser.parse_args()
    _line("ready, three nodes", [_ready() for _ in range(options.starts)], "s", "at most 2.5")
    with _running(3) as cluster:
        _line("idle memory a node (RSS)", [_rss_mib(cluster, node) for node in (1, 2, 3)], "MiB", "at most 60")
        _line("killed leader to acknowledged write", _failovers(cluster, options.failovers), "s", "median at most 2")
    with _running(3) as cluster:
        rate = _throughput(cluster, options.megabytes)
    with _running(1) as cluster:
        alone = _throughput(cluster, options.megabytes)
    print(f"{'acks=all, RF 3, 1 MiB':<40} {rate:8.1f} MiB/s   target 40, beside {alone:.1f} MiB/s with one replica")
    return 0


class _running:
    """A cluster in a folder of its own, for a with-block."""

    def __init__(self, nodes: int) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="brokertrial-bench-"))
        self._cluster = Cluster(self._folder, nodes, 0, ["--log-level", "WARNING"])

    def __enter__(self) -> Cluster:
        self._cluster.start()
        return self._cluster

    def __exit__(self, *_: object) -> None:
        self._cluster.stop()
        shutil.rmtree(self._folder, ignore_errors=True)


def _line(what: str, figures: list[float], unit: str, target: str) -> None:
    ordered = sorted(figures)
    shown = f"median {statistics.median(ordered):.2f}, {ordered[0]:.2f} to {ordered[-1]:.2f} {unit}"
    print(f"{what:<40} {shown} of {len(ordered)}   target {target}   load {os.getloadavg()[0]:.1f}", flush=True)


def _ready() -> float:
    began = time.monotonic()
    with _running(3):
        return time.monotonic() - began


def _rss_mib(cluster: Cluster, node: int) -> float:
    status = Path(f"/proc/{cluster.pid_of(node)}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def _failovers(cluster: Cluster, count: int) -> list[float]:
    """Each by a raw client that asks again every 10 ms: nothing of a client library's patience is in it."""
    _make(cluster, "failover", 1)
    figures = []
    for _ in range(count):
        leader = placement(cluster, "failover")["leader"]
        _written(cluster, "failover")
        began = time.monotonic()
        cluster.kill(leader)
        wait_for("an acknowledged write", lambda: _written(cluster, "failover"), 30)
        figures.append(time.monotonic() - began)
        cluster.restart(leader)
        wait_for("all in sync", lambda: len(placement(cluster, "failover")["isr"]) == 3, 60)
    return figures


def _written(cluster: Cluster, topic: str) -> bool:
    """One record, acks=all, to whom the controller calls the leader."""
    leader = placement(cluster, topic)["leader"]
    if leader < 0:
        return False
    try:
        with Connection("127.0.0.1", cluster.ports[leader], timeout_s=2.0) as connection:
            answer = connection.call(_produce(topic, 0, _ONE), 9)
    except Exception:  # noqa: BLE001  whatever went wrong, the write was not acknowledged
        return False
    return bool(answer.responses[0].partition_responses[0].error_code == 0)


def _produce(topic: str, partition: int, batch: bytes) -> Struct:
    data = [{"name": topic, "partition_data": [{"index": partition, "records": batch}]}]
    return request("Produce", acks=-1, timeout_ms=5000, topic_data=data)


def _throughput(cluster: Cluster, megabytes: int) -> float:
    _make(cluster, "load", 4)
    batch = build_batch([Record(key=None, value=os.urandom(1 << 16), timestamp=1) for _ in range(16)])
    leaders = {index: placement(cluster, "load", index)["leader"] for index in range(4)}
    count = max(1, megabytes // 4)
    failures: list[int] = []

    def send(index: int) -> None:
        with Connection("127.0.0.1", cluster.ports[leaders[index]], timeout_s=30.0) as connection:
            for _ in range(count):
                answer = connection.call(_produce("load", index, batch), 9)
                if error := answer.responses[0].partition_responses[0].error_code:
                    failures.append(error)

    threads = [threading.Thread(target=send, args=(index,)) for index in range(4)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - began
    if failures:
        raise Trouble(f"{len(failures)} batches were refused, the first with {failures[0]}")
    return 4 * count * len(batch) / MIB / seconds


def _make(cluster: Cluster, topic: str, partitions: int) -> None:
    """A copy on every node; one of them may be missing."""
    enough = str(max(1, len(cluster.ports) - 1))
    make_topic(cluster, topic, partitions, {"max.message.bytes": "2097152", "min.insync.replicas": enough})


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Trouble as trouble:
        sys.exit(f"three_nodes: {trouble}")
