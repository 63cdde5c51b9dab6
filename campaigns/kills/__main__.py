"""Brokers killed in a row under load, what became of every acknowledged record, and whose doing each loss is.

    python -m campaigns.kills leaders      [--kills 200] [--without-wait]   kill -9 of a leader
    python -m campaigns.kills cuts         [--kills 200] [--without-wait]   the same, and its disk loses what it can
    python -m campaigns.kills coordinators [--kills 50]                     of the transactions and the group of a copy
    python -m campaigns.kills judge DIR                                     judges again what --keep DIR has kept

Three brokers and a controller; topics of three copies, acks=all, min.insync.replicas=2. `leaders` and `cuts` send to
three partitions with an idempotent producer, and at a random moment kill the leader of one of them. `coordinators`
copies a topic exactly once and kills a coordinator of that copy. Before the next kill there are new acknowledgements
(or commits) and every replica is in sync again. With --without-wait each second kill, by lot, comes at once, and the
others as soon as every partition acknowledges again, so that the last in-sync replica dies too.

At the end everything is read, and `checkers.judge` and campaigns/kills/judgement.py say what was lost, doubled or out
of order. A loss is excused by nothing but the power cut of the last in-sync replica of that partition, of a record that
this disk had and had not synced. What the wire shows to be a client's own doing is told, and held against nobody.

Exit status: 0, nothing was lost without that excuse and nothing else is wrong; 1, something was; 2, the run came to
nothing.
"""

from __future__ import annotations

import argparse
import logging
import shutil
import sys
import tempfile
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from random import Random

from brokertrial.histories.recorder import Recorder
from brokertrial.reference_impl.broker.cluster import Cluster, ClusterFailed
from brokertrial.reference_impl.coordinator.placement import partition_for
from campaigns.kills import report
from campaigns.kills.copying import GROUP, ID, Copy
from campaigns.kills.deaths import Deaths
from campaigns.kills.judgement import find
from campaigns.kills.load import Load
from campaigns.kills.report import Course
from campaigns.kills.support import Trouble, all_in_sync, control, final_read, make_topic, recorded, wait_for

TOPIC, PARTITIONS = "t", 3
CONFIG = {"min.insync.replicas": "2", "segment.bytes": "2097152"}  # a restart reads the newest segment again
PATIENCE_S = 90.0
NAP_S = (0.05, 0.5)
AT_ONCE = 0.5


def main() -> int:
    """Kills, reads, judges, prints; the exit status."""
    options = _options()
    if options.series == "judge":
        return _judge(Path(options.folder) / "history", Course())
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # it tells of every broker that is not there
    folder = Path(options.keep or tempfile.mkdtemp(prefix="brokertrial-kills-"))
    settings = ["--set", f"flush.mode={options.flush}", "--log-level", "INFO"]
    cluster = Cluster(folder / "cluster", 3, 0, settings)
    course = Course()
    print(report.opening(options), flush=True)
    try:
        cluster.start()
        with recorded(folder / "history", f"kills/{options.series}", options.seed) as recorder:
            run = _Coordinators if options.series == "coordinators" else _Leaders
            run(cluster, recorder, options, course).run()
        return _judge(folder / "history", course)
    except (Trouble, ClusterFailed) as trouble:
        print(f"kills: after {len(course.kills)} kills: {trouble}", file=sys.stderr)
        return 2
    finally:
        cluster.stop()
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)


def _judge(history: Path, course: Course) -> int:
    with tempfile.TemporaryDirectory(prefix="brokertrial-kills-") as scratch:
        findings = find(history, Path(scratch) / "history")
    print(report.closing(course, findings))
    return 1 if findings.bad else 0


class _Leaders:
    """Kills the leader of a partition that a producer writes to."""

    def __init__(self, cluster: Cluster, recorder: Recorder, options: argparse.Namespace, course: Course) -> None:
        self._cluster, self._recorder, self._course = cluster, recorder, course
        self._kills, self._wait = options.kills, not options.without_wait
        self._rng, self._pause = Random(options.seed), threading.Event()
        self._deaths = Deaths(cluster, recorder, self._rng, power_cut=options.series == "cuts")
        self._starting: dict[int, Future[None]] = {}
        self._starters = ThreadPoolExecutor(3, thread_name_prefix="starter")

    def run(self) -> None:
        """All kills, then everything in sync, then everything read."""
        make_topic(self._cluster, TOPIC, PARTITIONS, CONFIG)
        load = Load(self._cluster.bootstrap, TOPIC, PARTITIONS, self._recorder)
        load.start()
        try:
            self._all_work(load)
            while len(self._course.kills) < self._kills:
                self._pause.wait(self._rng.uniform(*NAP_S))
                self._kill(load)
            for started in self._starting.values():
                started.result(PATIENCE_S)
            wait_for("all replicas in sync", lambda: all_in_sync(self._cluster), PATIENCE_S)
        finally:
            self._starters.shutdown()
            load.stop()
        self._course.done(load.acked, load.failed, f"{load.producers} producers, one after the other")
        places = [(TOPIC, number) for number in range(PARTITIONS)]
        self._course.stored = final_read(self._cluster, places, self._recorder, transactions=False)

    def _kill(self, load: Load) -> None:
        node_control = self._leader()
        if starting := self._starting.pop(node_control, None):
            starting.result(PATIENCE_S)  # it is led by a broker that says itself that it is there
        began = time.monotonic()
        death = self._deaths.strike(node_control)
        alone = any(one.topic == TOPIC and one.left == (node_control,) for one in death.partitions)
        if not self._wait:
            self._starting[node_control] = self._starters.submit(self._deaths.again, death)
            self._course.killed(node_control, began, None, None, alone=alone)
            if self._rng.random() >= AT_ONCE:
                self._resumed(load, list(range(PARTITIONS)), death.at_ns)
            return
        led = [one.partition for one in death.partitions if one.topic == TOPIC and one.leader == node_control]
        resumed = self._resumed(load, led, death.at_ns)
        self._deaths.again(death)
        wait_for("all replicas in sync", lambda: all_in_sync(self._cluster), PATIENCE_S)
        self._course.killed(node_control, began, resumed, time.monotonic(), alone=alone)

    def _resumed(self, load: Load, led: list[int], at_ns: int) -> float:
        """Returns when every partition that the dead one led acknowledges again: the seconds until the last did."""
        wait_for("acknowledgements after a kill", lambda: all(load.acked_after(p, at_ns) for p in led), PATIENCE_S)
        return (max(load.acked_after(p, at_ns) or 0 for p in led) - at_ns) / 1e9

    def _all_work(self, load: Load) -> None:
        wait_for("first acknowledgements", lambda: all(load.acked_after(p, 0) for p in range(PARTITIONS)), PATIENCE_S)
        wait_for("all replicas in sync", lambda: all_in_sync(self._cluster), PATIENCE_S)

    def _leader(self) -> int:
        """Of one partition of those that have a leader that runs."""
        found: list[int] = []

        def led() -> bool:
            placed = control(self._cluster, 0, do="dump")["partitions"]
            found[:] = [
                one["leader"] for one in placed
                if one["topic"] == TOPIC and one["leader"] > 0 and self._cluster.runs(one["leader"])
            ]  # fmt: skip
            return bool(found)

        wait_for("a leader", led, PATIENCE_S)
        return self._rng.choice(found)


class _Coordinators:
    """Kills a coordinator of a copy that is under way: of its transactions, or of its group."""

    def __init__(self, cluster: Cluster, recorder: Recorder, options: argparse.Namespace, course: Course) -> None:
        self._cluster, self._recorder, self._course, self._kills = cluster, recorder, course, options.kills
        self._rng, self._pause = Random(options.seed), threading.Event()
        self._deaths = Deaths(cluster, recorder, self._rng, power_cut=False)

    def run(self) -> None:
        """All kills, then the rest copied, then everything read, once more as a reader of committed data sees it."""
        for topic in ("in", "out"):
            make_topic(self._cluster, topic, 1, CONFIG)
        inputs = Load(self._cluster.bootstrap, "in", 1, self._recorder, gap_s=0.01)
        copy = Copy(self._cluster.bootstrap, "in", "out", self._recorder)
        inputs.start()
        copy.start()
        try:
            wait_for("the first commit", lambda: copy.began_after(0), PATIENCE_S)
            wait_for("all replicas in sync", lambda: all_in_sync(self._cluster), PATIENCE_S)
            while len(self._course.kills) < self._kills:
                self._pause.wait(self._rng.uniform(*NAP_S))
                self._kill(copy)
        finally:
            inputs.stop()
            copy.stop()
        more = f"{copy.committed} transactions committed, {copy.given_up} given up, {copy.lives} copiers in a row"
        self._course.done(inputs.acked, inputs.failed, more)
        self._course.stored = final_read(self._cluster, [("in", 0), ("out", 0)], self._recorder, transactions=True)

    def _kill(self, copy: Copy) -> None:
        node_control = self._coordinator(
            *self._rng.choice((("__transaction_state", ID), ("__consumer_offsets", GROUP)))
        )
        began = time.monotonic()
        death = self._deaths.strike(node_control)
        wait_for("a commit after a kill", lambda: copy.began_after(death.at_ns), PATIENCE_S)
        resumed = time.monotonic() - death.at_ns / 1e9
        self._deaths.again(death)
        wait_for("all replicas in sync", lambda: all_in_sync(self._cluster), PATIENCE_S)
        self._course.killed(node_control, began, resumed, time.monotonic(), alone=False)

    def _coordinator(self, topic: str, name: str) -> int:
        placed = [one for one in control(self._cluster, 0, do="dump")["partitions"] if one["topic"] == topic]
        return int(placed[partition_for(name, len(placed))]["leader"])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("series", choices=("leaders", "cuts", "coordinators", "judge"))
    parser.add_argument("folder", nargs="?", help="of `judge`")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--without-wait", action="store_true", help="for replicas to be in sync (leaders, cuts)")
    parser.add_argument("--flush", default="never", choices=("never", "interval", "always"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", metavar="DIR", help="keep the history and the brokers' folders there")
    options = parser.parse_args()
    if (options.series == "judge") != (options.folder is not None):
        parser.error("`judge` names a folder that --keep has kept; no other series does")
    if options.series == "coordinators" and options.without_wait:
        parser.error("--without-wait is for `leaders` and `cuts`")
    return options


if __name__ == "__main__":
    sys.exit(main())
