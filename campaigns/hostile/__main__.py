"""Hostile input on every listener: does the broker live, stay small, and serve others meanwhile?

    python -m campaigns.hostile [--frames 1000000] [--idle 2000] [--seed 1] [--only client,controller,...]

A node alone (`client`) and a cluster (`inter-broker`, `controller`, `control`) get mutated frames of every API and
version that they offer; then the node gets connections that are half open, idle, never finish a large frame, or never
read. Meanwhile a witness, a client in another process, writes and reads; its times stand beside its own times just
before. Exit status 1 if a limit is broken: a process died or a handler failed, memory grew beyond --memory, the witness
was not served or waited too long, an acknowledged record is gone, a connection was never ended.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from brokertrial.reference_impl.broker.cluster import Cluster
from brokertrial.wire import apis
from brokertrial.wire.client import Connection
from brokertrial.wire.messages import request
from brokertrial.wire.records import Record, build_batch
from campaigns.hostile import traffic
from campaigns.hostile.frames import TOPICS
from campaigns.hostile.witness import Latency, Witness, Wronged

MIB = 1 << 20
BETWEEN_BROKERS = (
    "Fetch",
    "WriteTxnMarkers",
    "AddPartitionsToTxn",
    "OffsetForLeaderEpoch",
    "ListOffsets",
    "ElectLeaders",
)
QUIET = ["--log-level", "WARNING", "--set", "auto.create.topics.enable=false"]
HEAD = (
    f"{'listener':<14}{'frames':>9}{'answered':>9}{'closed':>8}{'waited':>8}   {'RSS before/peak/after':>22}"
    f"   {'p50 before/now':>16}{'p99 before/now':>18}{'worst':>8}"
)


@dataclass(slots=True)
class Limits:
    """What must hold, and what did not."""

    memory_mib: float
    slower: float
    broken: list[str] = field(default_factory=list)

    def judge(self, what: str, holds: bool, problem: str) -> None:
        if not holds:
            self.broken.append(f"{what}: {problem}")

    def judge_times(self, what: str, before: Latency, now: Latency) -> None:
        """A short stall is allowed, and whatever the machine does to both alike."""
        limit = max(1000.0, self.slower * before.p99_ms)
        self.judge(what, now.p99_ms <= limit, f"p99 of others {now.p99_ms:.0f} ms, at most {limit:.0f} are allowed")


class Alone:
    """A node alone, with the few names of a `Cluster` that are needed here."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        command = [
            sys.executable,
            "-P",
            "-m",
            "brokertrial.reference_impl",
            "node",
            "--data",
            str(folder / "node-1"),
            *QUIET,
        ]
        with (folder / "node-1.log").open("wb") as log:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        assert self._process.stdout is not None
        self.ports = {1: int(json.loads(self._process.stdout.readline())["port"])}

    def runs(self, node: int) -> bool:
        return node == 0 or self._process.poll() is None

    def pid_of(self, _: int) -> int:
        return self._process.pid

    def data_of(self, _: int) -> Path:
        return self._folder / "node-1"

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


class Subject:
    """The processes under fire, all of one reference cluster or node."""

    def __init__(self, cluster: Cluster | Alone, folder: Path) -> None:
        self.cluster, self.folder = cluster, folder
        self.port = next(iter(cluster.ports.values()))

    def node_folder(self, node: int) -> Path:
        return self.cluster.data_of(node)

    def rss_mib(self, node: int, *, peak: bool = False) -> float:
        """Resident memory now, or the most since `forget_peak`."""
        wanted = "VmHWM" if peak else "VmRSS"
        lines = Path(f"/proc/{self.cluster.pid_of(node)}/status").read_text("ascii").splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(wanted))

    def forget_peak(self, node: int) -> None:
        Path(f"/proc/{self.cluster.pid_of(node)}/clear_refs").write_text("5", "ascii")

    def failures(self) -> list[str]:
        """Handlers that failed, and tracebacks, in the logs."""
        found = []
        for path in sorted(self.folder.glob("*.log")):
            lines = path.read_text("utf-8", "replace").splitlines()
            found += [
                f"{path.name}: {line[:160]}" for line in lines if " ERROR " in line or line.startswith("Traceback")
            ]
        return found


@contextmanager
def subject(nodes: int) -> Iterator[Subject]:
    """A node alone, or a controller and several brokers, in a temporary folder, with the topics of the frames."""
    with tempfile.TemporaryDirectory(prefix="brokertrial-hostile-") as name:
        folder = Path(name)
        cluster = Cluster(folder, nodes, 0, QUIET) if nodes > 1 else Alone(folder)
        try:
            if isinstance(cluster, Cluster):
                cluster.start()
            made = Subject(cluster, folder)
            _make_topics(made.port, min(nodes, 3))
            yield made
        finally:
            cluster.stop()


def _make_topics(port: int, copies: int) -> None:
    wanted = [
        {"name": name, "num_partitions": 1, "replication_factor": copies} for name in (*TOPICS, "witness", "bulk")
    ]
    with Connection("127.0.0.1", port, timeout_s=60) as line:
        line.call(request("CreateTopics", topics=wanted, timeout_ms=30_000), 5)


def fill(port: int, mib: int) -> None:
    """Something for slow readers to ask for: batches of 1 MiB of one topic."""
    batch = build_batch([Record(None, bytes(MIB - 200), timestamp=int(time.time() * 1000))])
    data = [{"name": "bulk", "partition_data": [{"index": 0, "records": batch}]}]
    with Connection("127.0.0.1", port, timeout_s=60) as line:
        for _ in range(mib):
            answer = line.call(request("Produce", acks=-1, timeout_ms=30_000, topic_data=data), 9)
            assert not answer.responses[0].partition_responses[0].error_code


def offered(port: int) -> dict[str, tuple[int, int]]:
    """The APIs of a port by name, as it says itself."""
    with Connection("127.0.0.1", port, timeout_s=60) as line:
        found = line.offered()
    known = {apis.by_key(key): versions for key, versions in found.items()}
    return {
        api.name: (max(low, api.min_version), min(high, api.max_version))
        for api, (low, high) in known.items()
        if api is not None
    }


Attack = Callable[[], Awaitable[traffic.Tally]]


def run(what: str, under: Subject, node: int, attack: Attack, limits: Limits, warm_s: float) -> None:
    """One row: the witness alone for a while, then under attack."""
    with Witness(under.port, "witness") as witness:
        try:
            _wait(warm_s)
            witness.begin()
            _wait(warm_s)
            before = witness.told()
            memory = under.rss_mib(node)
            under.forget_peak(node)
            witness.begin()
            tally = asyncio.run(_attack(attack(), warm_s))
            now = witness.told()
            witness.read_all()
        except (Wronged, OSError) as problem:
            limits.judge(what, False, str(problem))
            print(f"{what:<14} {problem}", flush=True)
            return
    peak, after = under.rss_mib(node, peak=True), under.rss_mib(node)
    print(
        f"{what:<14}{tally.sent:>9}{tally.answered:>9}{tally.closed:>8}{tally.waited:>8}"
        f"   {memory:>6.0f} {peak:>6.0f} {after:>6.0f} MiB   {before.p50_ms:>6.1f} {now.p50_ms:>6.1f} ms"
        f"  {before.p99_ms:>7.1f} {now.p99_ms:>7.1f} ms {now.worst_ms:>7.0f}",
        flush=True,
    )
    limits.judge(what, not tally.deaf, f"{tally.deaf} connections were never ended")
    limits.judge(what, peak - memory <= limits.memory_mib, f"{peak - memory:.0f} MiB more memory at the peak")
    limits.judge_times(what, before, now)


async def _attack(attack: Awaitable[traffic.Tally], at_least_s: float) -> traffic.Tally:
    """However short the attack is, the witness needs a while to have anything to say."""
    began = time.monotonic()
    tally = await attack
    await asyncio.sleep(max(0.0, at_least_s - (time.monotonic() - began)))
    return tally


def _wait(seconds: float) -> None:
    asyncio.run(asyncio.sleep(seconds))


def burden(open_lines: Callable[[], Awaitable[list[traffic.Line]]], held_s: float) -> Attack:
    """An attack by connections that are just there, for so long."""

    async def attack() -> traffic.Tally:
        lines = await open_lines()
        try:
            await asyncio.sleep(held_s)
        finally:
            closed = sum(line.ended for line in lines)
            traffic.end(lines)
        return traffic.Tally(sent=len(lines), closed=closed)

    return attack


def attacks_on(under: Subject, options: argparse.Namespace) -> Iterator[tuple[str, int, Attack]]:
    """Name, the node that is hit, and the attack."""
    rng, port, held = Random(options.seed), under.port, options.hold
    broker_apis = offered(port)
    if isinstance(under.cluster, Alone):
        yield "client", 1, lambda: traffic.frames(port, rng, broker_apis, options.frames)
        yield "half-open", 1, burden(lambda: traffic.half_open(port, rng, options.idle), held)
        yield "idle", 1, burden(lambda: traffic.idle(port, options.idle), held)
        yield "unfinished", 1, burden(lambda: traffic.large_and_unfinished(port, options.large, 32 * MIB), held)
        yield "slow readers", 1, burden(lambda: traffic.slow_readers(port, "bulk", options.slow), held)
        return
    controller = under.cluster.controller_port
    between = {name: broker_apis[name] for name in BETWEEN_BROKERS if name in broker_apis}
    controllers = offered(controller)
    yield "inter-broker", 1, lambda: traffic.frames(port, rng, between, options.frames)
    yield "controller", 0, lambda: traffic.frames(controller, rng, controllers, options.frames)
    yield "control", 1, lambda: traffic.control(under.node_folder(1), rng, options.frames // 10)
    yield "control-0", 0, lambda: traffic.control(under.node_folder(0), rng, options.frames // 10)


def main() -> int:
    """Prints one line an attack, then what was broken; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--frames", type=int, default=1_000_000, help="on each listener")
    parser.add_argument("--idle", type=int, default=2000, help="idle connections, and half-open ones")
    parser.add_argument("--slow", type=int, default=100, help="connections that never read")
    parser.add_argument("--large", type=int, default=20, help="connections that never finish a frame of 32 MiB")
    parser.add_argument("--bulk", type=int, default=64, help="MiB for slow readers to ask for")
    parser.add_argument("--hold", type=float, default=10.0, help="seconds that idle connections stay")
    parser.add_argument("--warm", type=float, default=5.0, help="seconds that the witness is alone before each attack")
    parser.add_argument("--memory", type=float, default=512.0, help="MiB that a broker may take at the peak")
    parser.add_argument("--slower", type=float, default=50.0, help="how many times slower p99 may be, above a second")
    parser.add_argument("--only", default="", help="attacks by name, with commas")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is ended, and what was made deleted
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    print(f"seed {options.seed}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}\n{HEAD}", flush=True)
    limits, only = Limits(options.memory, options.slower), set(filter(None, options.only.split(",")))
    for nodes in (1, 3):
        with subject(nodes) as under:
            fill(under.port, options.bulk if nodes == 1 else 0)
            for name, node, attack in attacks_on(under, options):
                if not only or name in only:
                    run(name, under, node, attack, limits, options.warm)
                    for dead in [one for one in (0, *under.cluster.ports) if not under.cluster.runs(one)]:
                        limits.judge(name, False, f"node {dead} has died")
            limits.broken += under.failures()
    print("\n".join([f"broken: {one}" for one in limits.broken] or ["every limit held"]))
    return 1 if limits.broken else 0


if __name__ == "__main__":
    sys.exit(main())
