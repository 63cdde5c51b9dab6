"""What network namespaces cost: the same cluster with and without, in pairs, throughput and latency.

    python -m bench.namespaces [reference:3 | 'kafka:4.4.0?nodes=3'] [--pairs 10] [--megabytes 48] [--to FILE]

Both clusters of three run at once and are asked in turns, so that each pair has the same minute of the machine; which
of a pair is first is drawn by the seed. A turn is one raw client with a connection to each of three leaders: records
of 1 KiB one at a time (acks=all, latency), batches of 64 KiB four at a time to all leaders (acks=all, produce), and
the same bytes read back (fetch). No answer may be an error. A ratio is of one pair; the noise beside it is how far two
turns of the cluster without namespaces, one after the other, lie apart.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import msgspec

from brokertrial.histories.tempdirs import Scratch
from brokertrial.suites.targets import Target, TargetProblem, open_target
from brokertrial.suites.targets.node_ids import node_ids
from brokertrial.wire import errors, frames
from brokertrial.wire.addresses import all_parsed
from brokertrial.wire.client import Connection
from brokertrial.wire.messages import Struct, request
from brokertrial.wire.records import Record, batches, build_batch

MIB = 1 << 20
PLAIN, NETWORKED = "without", "with"
NODES = node_ids(3)
DEPTH = 4
BATCH_RECORDS = 64
PRODUCE, FETCH = 9, 12
READY_S = 60.0
TRIES = 4
UNSETTLED = (errors.NOT_LEADER_OR_FOLLOWER, errors.REQUEST_TIMED_OUT, errors.NOT_ENOUGH_REPLICAS)
WAIT_S = 30.0
ROW = "{:<26} {:>9} {:>9} {:>7}   {:<14} {:>6}"


@dataclass(frozen=True)
class NamespaceTurn:
    """What one turn of one cluster came to."""

    pair: int
    side: str
    p50_ms: float
    p95_ms: float
    p99_ms: float
    produce_mib_s: float
    fetch_mib_s: float


FIGURES = {
    "p50_ms": "acks=all, 1 KiB, p50 ms",
    "p95_ms": "acks=all, 1 KiB, p95 ms",
    "p99_ms": "acks=all, 1 KiB, p99 ms",
    "produce_mib_s": "produce, MiB/s",
    "fetch_mib_s": "fetch, MiB/s",
}


@dataclass(frozen=True)
class PairedFigure:
    """One figure over all pairs: medians, the ratios of the pairs, and how far equal turns lie apart."""

    figure: str
    without: float
    networked: float
    ratio: float
    lowest: float
    highest: float
    noise: float


class NoFigures(Exception):
    """Why there are no figures, in one sentence."""


class Unsettled(NoFigures):
    """A leader moved, or a follower was late, in the middle of a turn: a busy machine, and the turn is made again."""


class LedCluster:
    """One cluster whose partition N is led by the node NODES[N], in every topic made here."""

    def __init__(self, target: Target, rng: random.Random) -> None:
        self._bootstrap = all_parsed(target.bootstrap)[0]
        self._topics = 0
        now_ms = time.time_ns() // 1_000_000  # older records would be deleted by retention
        made = [Record(None, rng.randbytes(1000), timestamp=now_ms) for _ in range(BATCH_RECORDS)]
        self._one, self._many = build_batch(made[:1]), build_batch(made)

    def turn(self, pair: int, side: str, records: int, megabytes: int) -> NamespaceTurn:
        """Measures once, on a topic of its own that is gone afterwards."""
        batches_each = max(1, megabytes * MIB // len(self._many) // len(NODES))
        self._topics += 1
        with self._topic(f"bench-{pair}-{side}-{self._topics}") as topic, ExitStack() as held:
            lines = [held.enter_context(Connection(*place, timeout_s=WAIT_S)) for place in self._leaders(topic)]
            taken = self._latencies(lines, topic, records)
            produced = _at_once(lines, lambda line, number: self._produce(line, topic, number, batches_each))
            begin, end = records // 3, records // 3 + batches_each * BATCH_RECORDS
            fetched = _at_once(lines, lambda line, number: _fetch(line, topic, number, begin, end))
        cuts = statistics.quantiles(taken, n=100)
        size = batches_each * len(NODES) * len(self._many) / MIB
        return NamespaceTurn(pair, side, cuts[49], cuts[94], cuts[98], size / produced, size / fetched)

    def _latencies(self, lines: Sequence[Connection], topic: str, records: int) -> list[float]:
        asked = [_produce_frame(topic, number, self._one) for number in range(len(lines))]
        taken = []
        for number in range(records // 3 * 3):
            line = lines[number % 3]
            began = time.perf_counter()
            line.send_bytes(asked[number % 3])
            answer = line.receive_frame()
            taken.append((time.perf_counter() - began) * 1000)
            _must_be_written(answer)
        return taken

    def _produce(self, line: Connection, topic: str, partition: int, count: int) -> None:
        asked = _produce_frame(topic, partition, self._many)
        for sent in range(count):
            line.send_bytes(asked)
            if sent >= DEPTH - 1:
                _must_be_written(line.receive_frame())
        for _ in range(min(count, DEPTH - 1)):
            _must_be_written(line.receive_frame())

    @contextmanager
    def _topic(self, name: str) -> Iterator[str]:
        rows = [{"partition_index": n, "broker_ids": [NODES[(n + more) % 3] for more in range(3)]} for n in range(3)]
        settings = [{"name": "min.insync.replicas", "value": "2"}]
        made = {"name": name, "num_partitions": -1, "replication_factor": -1, "assignments": rows, "configs": settings}
        self._ask(request("CreateTopics", topics=[made], timeout_ms=30_000), lambda said: said.topics)
        try:
            yield name
        finally:
            self._ask(request("DeleteTopics", topic_names=[name], timeout_ms=30_000), lambda said: said.responses)

    def _ask(self, asked: Struct, rows: Callable[[Struct], Sequence[Struct]]) -> None:
        with Connection(*self._bootstrap, timeout_s=READY_S) as broker:
            for row in rows(broker.call(asked, 5)):
                if row.error_code:
                    raise NoFigures(f"{row.name}: error {row.error_code}")

    def _leaders(self, topic: str) -> list[tuple[str, int]]:
        """Where each partition's leader is, once all replicas are in sync and lead as they were placed."""
        deadline, pause = time.monotonic() + READY_S, threading.Event()
        asked = request("Metadata", topics=[{"name": topic}], allow_auto_topic_creation=False)
        with Connection(*self._bootstrap, timeout_s=READY_S) as broker:
            while time.monotonic() < deadline:
                said = broker.call(asked, 7)
                places = {node.node_id: (node.host, node.port) for node in said.brokers}
                found = {
                    part.partition_index: places[part.leader_id]
                    for part in said.topics[0].partitions
                    if part.leader_id == NODES[part.partition_index] and len(part.isr_nodes) == len(NODES)
                }
                if len(found) == len(NODES):
                    return [found[number] for number in sorted(found)]
                pause.wait(0.1)
        raise NoFigures(f"{topic}: not all replicas were in sync within {READY_S:.0f} s")


def _at_once(lines: Sequence[Connection], work: Callable[[Connection, int], None]) -> float:
    """The seconds that all lines took together."""
    with ThreadPoolExecutor(len(lines)) as pool:
        began = time.perf_counter()
        for done in [pool.submit(work, line, number) for number, line in enumerate(lines)]:
            done.result()
        return time.perf_counter() - began


def _fetch(line: Connection, topic: str, partition: int, offset: int, end: int) -> None:
    deadline = time.monotonic() + READY_S
    while offset < end:
        line.send_bytes(_fetch_frame(topic, partition, offset))
        answer = frames.decode_response("Fetch", FETCH, line.receive_frame())[1]
        part = answer.responses[0].partitions[0]
        if part.error_code or time.monotonic() > deadline:
            kind = Unsettled if part.error_code in UNSETTLED else NoFigures
            raise kind(f"{topic}: at offset {offset} of {end} the error is {part.error_code}")
        for batch in batches(part.records or b""):
            offset = batch.header.base_offset + batch.header.last_offset_delta + 1


def _produce_frame(topic: str, partition: int, batch: bytes) -> bytes:
    data = [{"name": topic, "partition_data": [{"index": partition, "records": batch}]}]
    return frames.encode_request(request("Produce", acks=-1, timeout_ms=30_000, topic_data=data), PRODUCE, 1, "bench")


def _fetch_frame(topic: str, partition: int, offset: int) -> bytes:
    part = {"partition": partition, "fetch_offset": offset, "partition_max_bytes": MIB}
    topics = [{"topic": topic, "partitions": [part]}]
    asked = request("Fetch", max_wait_ms=500, min_bytes=1, max_bytes=MIB, topics=topics)
    return frames.encode_request(asked, FETCH, 1, "bench")


def _must_be_written(answer: bytes) -> None:
    said = frames.decode_response("Produce", PRODUCE, answer)[1]
    if error := said.responses[0].partition_responses[0].error_code:
        raise (Unsettled if error in UNSETTLED else NoFigures)(f"a batch was refused with error {error}")


def main(argv: Sequence[str] | None = None) -> int:
    """Measures in pairs, prints the table, writes the file."""
    options = _options(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is ended
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(f"namespaces: not done within {options.within:.0f} s"))
    signal.setitimer(signal.ITIMER_REAL, options.within)
    turns = _measured(options)
    signal.setitimer(signal.ITIMER_REAL, 0)
    lines = list(_table(turns))
    print(f"{options.target}, {options.pairs} pairs, load {os.getloadavg()[0]:.1f} of {os.cpu_count()} processors")
    print(ROW.format("median of all turns", PLAIN, NETWORKED, "ratio", "of the pairs", "noise"))
    for line in lines:
        shown = f"{line.lowest:.2f} to {line.highest:.2f}"
        figures = (f"{line.without:.1f}", f"{line.networked:.1f}", f"{line.ratio:.2f}", shown, f"{line.noise:.2f}")
        print(ROW.format(line.figure, *figures))
    options.to.parent.mkdir(parents=True, exist_ok=True)
    written = {"target": options.target, "seed": options.seed, "figures": lines, "turns": turns}
    options.to.write_bytes(msgspec.json.format(msgspec.json.encode(written), indent=1) + b"\n")
    print(f"({options.to})")
    return 0


def _measured(options: argparse.Namespace) -> list[NamespaceTurn]:
    rng, turns = random.Random(options.seed), list[NamespaceTurn]()
    with Scratch("namespaces") as folder, ExitStack() as running:
        sides = {}
        for side in (PLAIN, NETWORKED):
            target = open_target(options.target, Path(folder, side))
            target.begins_in_network = side == NETWORKED
            running.enter_context(target)
            if (target.network is not None) is not target.begins_in_network:
                raise NoFigures(f"{options.target} has no network namespaces here; `brokertrial doctor` says why")
            sides[side] = LedCluster(target, random.Random(options.seed))
        for pair in range(options.pairs + 1):
            for side in rng.sample((PLAIN, NETWORKED), 2):
                turn = _settled(sides[side], pair, side, options)
                if pair:  # the first warms up
                    turns.append(turn)
            print(f"pair {pair} of {options.pairs}{'' if pair else ': not counted'}", file=sys.stderr, flush=True)
    return turns


def _settled(cluster: LedCluster, pair: int, side: str, options: argparse.Namespace) -> NamespaceTurn:
    """A turn in which no leader moved: the first of a few."""
    for left in reversed(range(TRIES)):
        try:
            return cluster.turn(pair, side, options.records, options.megabytes)
        except Unsettled as problem:
            print(f"pair {pair}, {side}: {problem}; {left} more tries", file=sys.stderr, flush=True)
            if not left:
                raise
    raise AssertionError("unreachable")


def _table(turns: Sequence[NamespaceTurn]) -> Iterator[PairedFigure]:
    for name, label in FIGURES.items():
        plain, networked = ([getattr(turn, name) for turn in turns if turn.side == side] for side in (PLAIN, NETWORKED))
        ratios = sorted(b / a for a, b in zip(plain, networked, strict=True))
        steps = [abs(after / before - 1) for before, after in pairwise(plain)] or [0.0]
        yield PairedFigure(
            label,
            statistics.median(plain),
            statistics.median(networked),
            statistics.median(ratios),
            ratios[0],
            ratios[-1],
            statistics.median(steps),
        )


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("target", nargs="?", default="reference:3", help="of three nodes (default: %(default)s)")
    parser.add_argument("--pairs", type=int, default=10, help="beside one that warms up (default: %(default)s)")
    parser.add_argument("--records", type=int, default=900, help="sent one at a time in a turn (default: %(default)s)")
    parser.add_argument("--megabytes", type=int, default=48, help="written and read in a turn (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--within", type=float, default=1800.0, help="seconds for all of it (default: %(default)s)")
    parser.add_argument("--to", type=Path, default=Path("runs", "bench-namespaces.json"), help="(default: %(default)s)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (NoFigures, TargetProblem) as problem:
        sys.exit(f"namespaces: {problem}")
