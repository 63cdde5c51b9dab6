"""Leaders killed in a row under load, and what became of every acknowledged record, judged by our own checkers.

    python bench/kills.py --kills 200 [--powercut] [--without-wait] [--seed 1] [--keep DIR]
    python bench/kills.py --transactions 50

Three brokers and a controller. One idempotent producer writes to one partition (RF 3, acks=all, min.insync.replicas 2);
at a random moment the leader is killed with kill -9, with --powercut its disk then loses what was never synced, and it
is started again. Before the next kill every replica is in sync again, unless --without-wait. At the end everything is
read, and `checkers.judge` says what was lost, doubled or out of order. --transactions copies a topic exactly once
instead, while the coordinator of its transactions is killed; every input must be in the output once.

A power cut of the last in-sync replica may lose data: such cuts are counted, and only they excuse a loss.
Exit status 1 when something was lost, doubled or reordered without that excuse.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import shutil
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parent))

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as Place
from aiokafka.errors import KafkaError
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kill_support import QUICK, Trouble, control, final_read, placement, recorded, revive, wait_for

from checkers.judge import judge
from histories.reader import History
from histories.rows import Client, Operation, Record
from reference_impl import powercut
from reference_impl.cluster import Cluster
from reference_impl.group.placement import partition_for

TOPIC = "t"
_CONFIG = {"min.insync.replicas": "2", "segment.bytes": "2097152"}  # a restart reads the newest segment again


def main() -> int:
    """Kills, reads, judges, prints."""
    options = _options()
    folder = Path(options.keep or tempfile.mkdtemp(prefix="brokertrial-kills-"))
    cluster = Cluster(folder / "cluster", 3, 0, ["--set", f"flush.mode={options.flush}", "--log-level", "INFO"])
    try:
        cluster.start()
        return _transactions(cluster, folder, options) if options.transactions else _kills(cluster, folder, options)
    finally:
        cluster.stop()
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)


def _kills(cluster: Cluster, folder: Path, options: argparse.Namespace) -> int:
    _make(cluster, TOPIC)
    rng, failovers, lonely = Random(options.seed), [], 0
    began = time.monotonic()
    with recorded(folder / "history", f"kills seed {options.seed}", options.seed) as recorder:
        load = Load(cluster, recorder)
        load.start()
        done = 0
        try:
            for number in range(1, options.kills + 1):
                load.pause.wait(rng.uniform(0.05, 0.5))
                where = placement(cluster, TOPIC)
                leader = where["leader"]
                if leader < 0:
                    wait_for("a leader", lambda: placement(cluster, TOPIC)["leader"] >= 0)
                    leader = placement(cluster, TOPIC)["leader"]
                killed_at = time.monotonic()
                cluster.kill(leader)
                if options.powercut:
                    alone = placement(cluster, TOPIC)["isr"] == [leader]
                    lonely += alone
                    powercut.cut(cluster.data_of(leader), rng)
                if options.without_wait:
                    cluster.restart(leader)
                else:
                    wait_for("acknowledgements after a kill", lambda t=killed_at: load.acked_since(t), 60)
                    failovers.append(load.first_after(killed_at) - killed_at)
                    cluster.restart(leader)
                    wait_for("all replicas in sync", lambda: len(placement(cluster, TOPIC)["isr"]) == 3, 60)
                done = number
                if number % 10 == 0:
                    print(f"{number} kills, {load.acked} acknowledged, {time.monotonic() - began:.0f} s", flush=True)
            wait_for("all replicas in sync", lambda: len(placement(cluster, TOPIC)["isr"]) == 3, 60)
        except KeyboardInterrupt:
            print(f"told to stop after {done} kills")
            revive(cluster)
        finally:
            load.stop()
        end = final_read(cluster.bootstrap, TOPIC, recorder)
    judgement = judge(History.open(folder / "history"))
    seconds = time.monotonic() - began
    print(
        f"{done} kills in {seconds:.0f} s ({seconds / max(done, 1):.2f} s each): {load.acked} acknowledged, "
        f"{load.failed} not, {end} stored, {lonely} cuts of the last in-sync replica"
    )
    if failovers:
        ordered = sorted(failovers)
        print(f"killed to acknowledged again: median {statistics.median(ordered):.2f} s, worst {ordered[-1]:.2f} s")
    return _verdict(judgement, excused=lonely > 0)


def _verdict(judgement, *, excused: bool) -> int:
    names = sorted({one.name for one in judgement.anomalies})
    print(f"{len(judgement.judged)} checks, {len(judgement.anomalies)} anomalies: {', '.join(names) or 'none'}")
    for anomaly in judgement.anomalies[:10]:
        print(f"  {anomaly.name}: {anomaly.sentence}")
    return 0 if not names or excused else 1


class Load(threading.Thread):
    """One idempotent producer that sends numbers, and writes down what it was told of each."""

    def __init__(self, cluster: Cluster, recorder) -> None:
        super().__init__(name="load", daemon=True)
        self._recorder, self._stopping = recorder, threading.Event()
        self.pause = threading.Event()
        self.acked = self.failed = 0
        self._times: list[float] = []
        self._producer = Producer(
            {"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True, "linger.ms": 1,
             "delivery.timeout.ms": 120_000, "request.timeout.ms": 5000, **QUICK}
        )  # fmt: skip
        recorder.add(Client(client="producer", library="confluent-kafka", acks=-1, idempotence=True))
        self._failure: BaseException | None = None

    def run(self) -> None:
        value = 0
        while not self._stopping.is_set():
            try:
                self._send(value)
            except BufferError:
                self._producer.poll(0.05)
                continue
            value += 1
            self._producer.poll(0.002)
        self._producer.flush(120)

    def _send(self, value: int) -> None:
        op, call = self._recorder.next_op(), time.monotonic_ns()

        def delivered(error, message) -> None:
            offset = None if error else message.offset()
            outcome = "info" if error else "ok"
            self._recorder.add(
                Operation(
                    op=op, client="producer", kind="send", topic=TOPIC, partition=0, call_ns=call,
                    return_ns=time.monotonic_ns(), outcome=outcome, base_offset=offset, count=1,
                )
            )  # fmt: skip
            self._recorder.add(
                Record(
                    op=op, client="producer", topic=TOPIC, partition=0, offset=offset, value=value, side="sent",
                    position=value, outcome=outcome,
                )
            )  # fmt: skip
            if error:
                self.failed += 1
            else:
                self.acked += 1
                self._times.append(time.monotonic())

        self._producer.produce(TOPIC, value=b"%d" % value, partition=0, on_delivery=delivered)

    def acked_since(self, moment: float) -> bool:
        """Whether anything was acknowledged more than 20 ms after that: answers on their way do not count."""
        return bool(self._times) and self._times[-1] > moment + 0.02

    def first_after(self, moment: float) -> float:
        """When the first of these came."""
        return next(one for one in self._times if one > moment + 0.02)

    def stop(self) -> None:
        """Waits until everything sent is acknowledged or given up."""
        self._stopping.set()
        self.join(150)


def _transactions(cluster: Cluster, folder: Path, options: argparse.Namespace) -> int:
    for topic in ("in", "out"):
        _make(cluster, topic)
    rng, stop = Random(options.seed), threading.Event()
    sent = _fill(cluster, stop)
    copied = Copy(cluster, stop)
    copied.start()
    began = time.monotonic()
    try:
        for number in range(1, options.transactions + 1):
            stop.wait(rng.uniform(0.1, 0.6))
            before = copied.committed
            found = control(cluster, 0, do="dump")["partitions"]
            states = [one for one in found if one["topic"] == "__transaction_state" and one["leader"] > 0]
            victim = copied.coordinator(states) or rng.choice((1, 2, 3))
            cluster.kill(victim)
            cluster.restart(victim)
            wait_for("all replicas in sync", lambda: _all_in_sync(cluster), 60)
            wait_for("a commit after a kill", lambda b=before: copied.committed > b, 60)
            if number % 10 == 0:
                print(f"{number} kills, {copied.committed} commits, {copied.aborted} aborts", flush=True)
    finally:
        stop.set()
        sent.join(60)
        copied.join(120)
    seconds = time.monotonic() - began
    wanted, seen = sent.values, copied.read_committed()
    lost, doubled = len(wanted - set(seen)), len(seen) - len(set(seen))
    print(
        f"{options.transactions} coordinator kills in {seconds:.0f} s: {len(wanted)} inputs, {len(seen)} outputs, "
        f"{copied.committed} commits, {copied.aborted} aborts, {lost} lost, {doubled} doubled"
    )
    return 1 if lost or doubled else 0


class _Fill(threading.Thread):
    def __init__(self, cluster: Cluster, stop: threading.Event) -> None:
        super().__init__(name="fill", daemon=True)
        self._stop_now, self.values = stop, set()
        self._producer = Producer({"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True, **QUICK})

    def run(self) -> None:
        value = 0
        while not self._stop_now.wait(0.005):
            self._producer.produce("in", value=b"%d" % value, partition=0, on_delivery=self._told)
            self._producer.poll(0)
            value += 1
        self._producer.flush(60)

    def _told(self, error, message) -> None:
        if not error:
            self.values.add(int(message.value()))


def _fill(cluster: Cluster, stop: threading.Event) -> _Fill:
    thread = _Fill(cluster, stop)
    thread.start()
    return thread


class Copy(threading.Thread):
    """Copies `in` to `out` in transactions that carry the input's offsets; begins anew after anything that fails.

    With aiokafka: librdkafka 2.16 waits for ever for a group coordinator that has left the metadata in mid-transaction.
    """

    def __init__(self, cluster: Cluster, stop: threading.Event) -> None:
        super().__init__(name="copy", daemon=True)
        self._servers, self._stop_now = cluster.bootstrap, stop
        self.committed = self.aborted = 0

    def coordinator(self, states) -> int | None:
        """Who coordinates the transactional id, as `__transaction_state` is led now."""
        wanted = partition_for("copy", 8)
        return next((one["leader"] for one in states if one["partition"] == wanted), None)

    def run(self) -> None:
        asyncio.run(self._run())

    async def _run(self) -> None:
        quiet = 0
        while not (self._stop_now.is_set() and quiet >= 3):
            try:
                quiet = await self._session()
            except (KafkaError, TimeoutError) as error:
                self.aborted += 1
                print(f"  again, after {type(error).__name__}", flush=True)

    async def _session(self) -> int:
        """One producer and one consumer, until something fails or the end; how often there was nothing to do."""
        quick = {"bootstrap_servers": self._servers, "retry_backoff_ms": 30, "request_timeout_ms": 5000}
        consumer = AIOKafkaConsumer(group_id="copy", enable_auto_commit=False, metadata_max_age_ms=1000, **quick)
        producer = AIOKafkaProducer(
            transactional_id="copy", transaction_timeout_ms=10_000, metadata_max_age_ms=1000, **quick
        )
        quiet, where = 0, Place("in", 0)
        async with asyncio.timeout(60):
            await consumer.start()
            await producer.start()
        try:
            consumer.assign([where])
            async with asyncio.timeout(30):
                place = await consumer.committed(where)
            consumer.seek(where, place or 0)
            while not (self._stop_now.is_set() and quiet >= 3):
                found = await consumer.getmany(where, timeout_ms=300, max_records=50)
                messages = found.get(where, [])
                quiet = 0 if messages else quiet + 1
                if messages:
                    async with asyncio.timeout(30):
                        await self._copy(producer, where, messages)
        finally:
            for client in (producer, consumer):
                with contextlib.suppress(KafkaError, TimeoutError):
                    await asyncio.wait_for(client.stop(), 20)
        return quiet

    async def _copy(self, producer: AIOKafkaProducer, where: Place, messages) -> None:
        async with producer.transaction():
            for message in messages:
                await producer.send("out", value=message.value, partition=0)
            await producer.send_offsets_to_transaction({where: messages[-1].offset + 1}, "copy")
        self.committed += 1

    def read_committed(self) -> list[int]:
        """Everything in `out` that a read_committed reader gets."""
        reader = Consumer(
            {"bootstrap.servers": self._servers, "group.id": "r", "isolation.level": "read_committed", **QUICK}
        )
        reader.assign([TopicPartition("out", 0, 0)])
        _, end = reader.get_watermark_offsets(TopicPartition("out", 0), timeout=30)
        seen: list[int] = []

        def read_all() -> bool:
            seen.extend(int(one.value()) for one in reader.consume(1000, 0.5) if not one.error())
            return reader.position([TopicPartition("out", 0)])[0].offset >= end

        wait_for("the end of the output", read_all, 60)
        reader.close()
        return seen


def _all_in_sync(cluster: Cluster) -> bool:
    return all(len(one["isr"]) == 3 for one in control(cluster, 0, do="dump")["partitions"])


def _make(cluster: Cluster, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, **QUICK})
    for done in admin.create_topics([NewTopic(topic, 1, 3, config=_CONFIG)]).values():
        done.result(30)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--transactions", type=int, default=0, metavar="KILLS")
    parser.add_argument("--powercut", action="store_true")
    parser.add_argument("--without-wait", action="store_true")
    parser.add_argument("--flush", default="never", choices=("never", "interval", "always"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", metavar="DIR")
    return parser.parse_args()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Trouble as trouble:
        sys.exit(f"kills: {trouble}")
