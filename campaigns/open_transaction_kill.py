"""Does a Kafka that is killed with transactions open ever complete an abort without its markers?

    python -m campaigns.open_transaction_kill [kafka:4.4.0] [--kills 12] [--minutes 25] [--seed 1]

One node. Before each kill -9 several transactional ids are each at another point: open; EndTxn sent and not waited for;
a new InitProducerId sent over an open transaction; a librdkafka producer in the midst of its transactions. Half of them
speak transaction.version 2, half the protocol before. The node stays down for less or for longer than the transaction
timeout. Afterwards every id initializes again, and commits one more transaction to the same partitions.

Each record carries the number of its transaction, so the raw log decides: between records of two transactions of one
producer id there MUST be a marker, a transaction MUST have the same outcome in every partition, read_committed MUST
show no record of an aborted or open one. One line for each kill; exit status 1 when a rule was broken.
"""

from __future__ import annotations

import argparse
import re
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

from confluent_kafka import KafkaException
from confluent_kafka import Producer as Librdkafka

from brokertrial.histories.tempdirs import Scratch
from brokertrial.suites.probe import COMMITTED
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.produce import batch
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.targets import open_target
from brokertrial.suites.targets.base import Target
from brokertrial.wire import records

PARTITIONS = 4
TIMEOUT_MS = 1500
POINTS = ("open", "abort-sent", "commit-sent", "init-sent")
WORTH_TELLING = re.compile(
    r"likely deleted|permanently failed|Idempotent transaction marker|cancel sending|Truncat|ERROR"
)


class Id:
    """One transactional id, driven request by request in one of the two protocols."""

    def __init__(self, wire: Wire, name: str, point: str, *, version2: bool) -> None:
        self.wire, self.name, self.point, self.version2 = wire, name, point, version2
        self.pid = self.epoch = -1
        self.sequence: Counter[int] = Counter()
        self.count = 0

    def start(self) -> None:
        """InitProducerId."""
        answer = self.wire.init_producer_id(self.name, timeout_ms=TIMEOUT_MS, via=self.name)
        self._take(answer.producer_id, answer.epoch)

    def send(self, topic: str) -> None:
        """One record of a new transaction to every partition."""
        self.count += 1
        if not self.version2:
            places = [(topic, index) for index in range(PARTITIONS)]
            self.wire.add_partitions(self.name, self.pid, self.epoch, places, via=self.name).must_succeed()
        for index in range(PARTITIONS):
            made = batch(
                f"{self.name}/{self.count}", timestamp=self.wire.now_ms(), producer_id=self.pid,
                producer_epoch=self.epoch, base_sequence=self.sequence[index], transactional=True,
            )  # fmt: skip
            self.sequence[index] += 1
            self.wire.produce(
                topic, made, index, transactional_id=self.name, version=None if self.version2 else 11, via=self.name
            ).must_succeed()

    def end(self, commit: bool, *, wait: bool = True) -> None:
        """EndTxn, of the version that belongs to the protocol."""
        answer = self.wire.end_txn(
            self.name, self.pid, self.epoch, commit=commit, version=None if self.version2 else 4, wait=wait,
            via=self.name,
        )  # fmt: skip
        if wait:
            answer.must_succeed()
            if self.version2:
                self._take(answer.producer_id, answer.epoch)

    def reach_point(self) -> None:
        """What is under way when the node dies; no answer is waited for."""
        if self.point.endswith("sent") and self.point != "init-sent":
            self.end(self.point == "commit-sent", wait=False)
        elif self.point == "init-sent":
            self.wire.init_producer_id(
                self.name, timeout_ms=TIMEOUT_MS, wait=False, retry=False, to=self.wire.nodes[0], via=self.name
            )

    def _take(self, pid: int, epoch: int) -> None:
        if (pid, epoch) != (self.pid, self.epoch):
            self.sequence.clear()
        self.pid, self.epoch = pid, epoch


class Busy(threading.Thread):
    """A librdkafka producer that writes transaction after transaction, through the kill and beyond."""

    def __init__(self, bootstrap: str, topic: str, name: str) -> None:
        super().__init__(daemon=True)
        self.name, self.topic, self.over, self.ended = name, topic, threading.Event(), Counter[str]()
        self.settings = {"bootstrap.servers": bootstrap, "transactional.id": name, "transaction.timeout.ms": 2000,
                         "message.timeout.ms": 2000, "linger.ms": 0, "log_level": 0}  # fmt: skip

    def run(self) -> None:
        number = 0
        while not self.over.is_set():
            client = Librdkafka(self.settings)
            try:
                client.init_transactions(20)
                while not self.over.is_set():
                    number += 1
                    self._one(client, number)
            except KafkaException as error:
                self.ended[error.args[0].name()] += 1

    def _one(self, client: Librdkafka, number: int) -> None:
        client.begin_transaction()
        try:
            for index in range(PARTITIONS):
                client.produce(self.topic, f"{self.name}/{number}", partition=index)
            client.flush(5)
            (client.commit_transaction if number % 2 else client.abort_transaction)(10)
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise
            client.abort_transaction(10)
        self.ended["ended"] += 1


def one_kill(target: Target, wire: Wire, number: int, rng: Random) -> tuple[list[str], int]:
    """Opens, kills, starts again, goes on, judges: what is wrong, and how many transactions the kill met."""
    topic = f"kill-{number}"
    wire.create_topic(topic, partitions=PARTITIONS).must_succeed()
    wire.await_topic(topic)
    ids = [Id(wire, f"{topic}-{point}-{'new' if new else 'old'}-{copy}", point, version2=new)
           for point in POINTS for new in (True, False) for copy in range(2)]  # fmt: skip
    busy = [Busy(target.bootstrap, topic, f"{topic}-busy-{copy}") for copy in range(3)]
    for one in busy:
        one.start()
    for each in ids:
        each.start()
    for each in ids:
        each.send(topic)
        each.end(commit=rng.random() < 0.5)
    for each in rng.sample(ids, len(ids)):
        wire.eventually(partial(each.send, topic), within=20)
    for each in rng.sample(ids, len(ids)):
        each.reach_point()
    nap(rng.choice([0, 0.001, 0.003, 0.01, 0.03]))
    [node] = target.nodes.values()
    node.kill()
    wire.drop_lines()
    nap(rng.choice([0, TIMEOUT_MS / 1000 + 1.5, 4.5]))
    node.restart()
    wire.await_topic(topic)
    nap(rng.choice([0, 0, 3.0]))
    for each in rng.sample(ids, len(ids)):
        each.start()
        wire.eventually(partial(each.send, topic), within=20)
        each.end(commit=True)
    nap(1.0)
    for one in busy:
        one.over.set()
    for one in busy:
        one.join(60)
    for index in range(PARTITIONS):
        wire.await_settled(topic, index, within=30)
    return judged(wire, topic), len(ids) + len(busy)


def nap(seconds: float) -> None:
    """Lets time pass: how long a node is dead is what is tried."""
    threading.Event().wait(seconds)


def judged(wire: Wire, topic: str) -> list[str]:
    """What the raw log says against the broker."""
    wrong: list[str] = []
    outcomes: dict[bytes, dict[int, str]] = defaultdict(dict)
    for index in range(PARTITIONS):
        open_: dict[int, bytes] = {}
        for part in raw(wire, topic, index):
            pid = part.header.producer_id
            if part.header.is_control:
                label = open_.pop(pid, None)
                if label is not None:
                    outcomes[label][index] = part.marker().kind
                continue
            for record in part.records():
                label, old = record.value or b"", open_.get(pid)
                if old not in (None, label):
                    wrong.append(f"{topic}-{index}: no marker between {old!r} and {label!r} at offset {record.offset}")
                    outcomes[old or b""].setdefault(index, "NO MARKER")
                open_[pid] = label
        for label in open_.values():
            outcomes[label][index] = "OPEN"
        shown = set(wire.read_all(topic, index, isolation=COMMITTED).values)
        wrong += [f"{topic}-{index}: read_committed shows {label!r}, {per[index]}" for label, per in outcomes.items()
                  if label in shown and per.get(index, "COMMIT") != "COMMIT"]  # fmt: skip
    wrong += [
        f"{label!r} ended in several ways: {per}" for label, per in outcomes.items() if len(set(per.values())) > 1
    ]
    wrong += [
        f"{label!r} is open for ever in {sorted(per)}" for label, per in outcomes.items() if "OPEN" in per.values()
    ]
    return wrong


def raw(wire: Wire, topic: str, index: int) -> Iterator[records.Batch]:
    """Every batch of a partition, markers too."""
    yield from wire.read_all(topic, index).batches


def main() -> int:
    """Kills until the number or the time is up."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", nargs="?", default="kafka:4.4.0")
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--minutes", type=float, default=25.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng, until = Random(options.seed), time.monotonic() + 60 * options.minutes
    wrong: list[str] = []
    tries = kills = 0
    with Scratch("kills") as folder, open_target(options.target, Path(folder)) as target:
        host, _, port = target.bootstrap.partition(":")
        while kills < options.kills and time.monotonic() < until:
            began = time.monotonic_ns()
            wire = Wire.unrecorded(CaseContext(prefix="", case=""), [(host, int(port))])
            found, met = one_kill(target, wire, kills, rng)
            wrong, tries, kills = wrong + found, tries + met, kills + 1
            lines = [line.text for line in target.log_lines(began, time.monotonic_ns())]
            told = Counter(shape[0] for text in lines if (shape := WORTH_TELLING.search(text)))
            print(f"kill {kills}: {met} ids, {len(found)} wrong {found[:6]}; the log: {dict(told)}", flush=True)
            if found:
                print(*[f"    | {text}" for text in lines if WORTH_TELLING.search(text)][:40], sep="\n", flush=True)
    print(f"{kills} kills, {tries} transactional ids met by one, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
