"""Throughput and latency of the bundled broker, beside the targets of the design notes.

    python -m bench.broker [--seconds 3]

A broker process, one raw connection, real Produce v9 and Fetch v12 frames, requests pipelined four deep; acks=1, flush
never. The client shares the machine, so wall-clock figures are a floor; the broker's own CPU time is printed too: on a
machine with other work only that can be compared, and only with a run of the same minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from brokertrial.wire import frames, records
from brokertrial.wire.messages import request

MIB = 1 << 20
DEPTH = 4
SIZES = {"1 KiB": 1 << 10, "16 KiB": 16 << 10, "1 MiB": 1 << 20}
TARGETS = {
    ("produce", "1 KiB"): (8_000, "requests/s"),
    ("produce", "16 KiB"): (6_000, "requests/s"),
    ("produce", "1 MiB"): (150, "MiB/s"),
    ("fetch", "1 MiB"): (500, "MiB/s"),
}


class Client:
    """One connection that sends ready-made frames."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._socket.makefile("rb", buffering=MIB)

    def send(self, frame: bytes) -> None:
        self._socket.sendall(frame)

    def receive(self) -> int:
        size = int.from_bytes(self._file.read(4), "big")
        return len(self._file.read(size))

    def close(self) -> None:
        self._file.close()
        self._socket.close()


@contextmanager
def broker() -> Iterator[tuple[int, int]]:
    """A broker process in a temporary folder: its port and process id."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-P",
            "-m",
            "brokertrial.reference_impl",
            "node",
            "--data",
            str(Path(folder) / "data"),
        ]
        process = subprocess.Popen([*command, "--log-level", "ERROR"], stdout=subprocess.PIPE)
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["port"], process.pid
        finally:
            process.terminate()
            process.wait(20)


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def produce_frame(topic: str, size: int) -> bytes:
    """A Produce request whose batch of 1 KiB records has about this size."""
    value, now = b"v" * min(size - 90, 1000), int(time.time() * 1000)
    batch = records.build_batch([records.Record(None, value, timestamp=now)] * max(size // 1024, 1))
    parts = [{"name": topic, "partition_data": [{"index": 0, "records": batch}]}]
    return frames.encode_request(request("Produce", acks=1, timeout_ms=5000, topic_data=parts), 9, 1, "bench")


def fetch_frame(topic: str, size: int) -> bytes:
    """A Fetch request for about this many bytes from the log's start."""
    parts = [{"topic": topic, "partitions": [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": size + 4096}]}]
    wanted = request("Fetch", max_wait_ms=0, min_bytes=1, max_bytes=size + 4096, topics=parts)
    return frames.encode_request(wanted, 12, 1, "bench")


def pump(client: Client, frame: bytes, seconds: float) -> tuple[int, float, int]:
    """Keeps a few requests under way: how many were answered, in what time, and the bytes of the answers."""
    began, done, received, pending = time.perf_counter(), 0, 0, deque[None]()
    while time.perf_counter() - began < seconds or pending:
        while len(pending) < DEPTH and time.perf_counter() - began < seconds:
            client.send(frame)
            pending.append(None)
        received += client.receive()
        pending.popleft()
        done += 1
    return done, time.perf_counter() - began, received


def show(what: str, label: str, size: int, measure: Callable[[], tuple[int, float, int]], pid: int) -> None:
    """Runs one measurement and prints a row."""
    before = cpu_seconds(pid)
    done, elapsed, received = measure()
    moved = (received if what == "fetch" else done * size) / MIB
    busy = max(cpu_seconds(pid) - before, 0.01)
    target = TARGETS.get((what, label))
    verdict = "" if target is None else f"target {target[0]:,} {target[1]}"
    print(
        f"{what:8} {label:>7} {done / elapsed:10,.0f} requests/s {moved / elapsed:10,.1f} MiB/s"
        f" {moved / busy:10,.0f} MiB per broker CPU-second {busy / done * 1e6:8,.0f} us of it a request   {verdict}"
    )


def latency(client: Client, frame: bytes) -> None:
    """One record, one request at a time."""
    taken = []
    for _ in range(2000):
        began = time.perf_counter()
        client.send(frame)
        client.receive()
        taken.append((time.perf_counter() - began) * 1000)
    cuts = statistics.quantiles(taken, n=100)
    print(f"latency of one record: p50 {cuts[49]:.2f} ms, p99 {cuts[98]:.2f} ms   target 1 / 10 ms")


def main() -> None:
    """Prints one row for each size and direction."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=3.0)
    seconds = parser.parse_args().seconds
    print(f"Python {platform.python_version()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}")
    began = time.perf_counter()
    with broker() as (port, pid):
        print(f"ready after {time.perf_counter() - began:.2f} s   target 0.8 s")
        client = Client(port)
        for label, size in SIZES.items():
            topic = f"bench-{size}"
            made = [{"name": topic, "num_partitions": 1, "replication_factor": 1}]
            client.send(frames.encode_request(request("CreateTopics", topics=made), 5, 1, "bench"))
            client.receive()
            frame = produce_frame(topic, size)
            show("produce", label, size, lambda f=frame: pump(client, f, seconds), pid)  # type: ignore[misc]
            frame = fetch_frame(topic, size)
            show("fetch", label, size, lambda f=frame: pump(client, f, seconds), pid)  # type: ignore[misc]
        latency(client, produce_frame("bench-1024", 1024))
        client.close()


if __name__ == "__main__":
    main()
