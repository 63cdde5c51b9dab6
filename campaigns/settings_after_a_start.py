"""The minimal replays of docs/finding-settings-after-a-start.md: settings that Kafka takes and then cannot do with.

    python -m campaigns.settings_after_a_start [kafka:4.4.0]

1. What was set for all brokers MUST be in force after a restart. 2. A group MUST be given a setting within the bounds
though another one of it has come to lie beyond them. 3. A topic with the smallest index that is allowed MUST take a
record.

Exit status: 0, so it was; 1, it was not.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import sleep

from brokertrial.faults.node_control import TakesSettings
from brokertrial.histories.tempdirs import Scratch
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import BROKER, SET
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.targets import open_target
from brokertrial.suites.targets.base import Target
from brokertrial.wire import errors

GROUP, ALL, SETTLES_S = 32, "", 2
THREADS, LIMIT, LARGE = "num.io.threads", "message.max.bytes", 1_500_000
SESSION, INTERVAL, BOUND = (
    "consumer.session.timeout.ms",
    "consumer.heartbeat.interval.ms",
    "group.consumer.max.session.timeout.ms",
)


def main(text: str) -> int:
    """Plays all three, each on a broker of its own, and prints what was seen; the exit status."""
    kept = True
    for played in (in_steps, out_of_bounds, smallest_index):
        with Scratch("settings") as folder, open_target(text, Path(folder)) as target:
            right, seen = played(target)
            print(f"{text}, version {target.version()}, {played.__name__}: {seen}", flush=True)
            kept = kept and right
    return 0 if kept else 1


def in_steps(target: Target) -> tuple[bool, str]:
    """Large batches are allowed, a number of threads is doubled twice, and the node is started again."""
    wire = _wire(target)
    wire.create_topic("large").must_succeed()
    wire.await_topic("large")
    before = int(wire.setting(THREADS) or "8")
    for name, value in ((LIMIT, "3000000"), (THREADS, str(2 * before)), (THREADS, str(4 * before))):
        wire.change_configs(BROKER, ALL, [(name, SET, value)]).must_succeed()
        sleep(SETTLES_S)
    first = wire.produce("large", batch("x" * LARGE)).error
    _start_again(wire, target, {})
    told = wire.describe_configs(BROKER, ALL, [LIMIT]).must_succeed().at("results[0].configs")
    second = wire.produce("large", batch("x" * LARGE)).error
    seen = f"before the restart {errors.name(first)}, after it {errors.name(second)}; for all brokers there is set"
    return first == second == 0, f"{seen} {[(row.name, row.value) for row in told]}"


def out_of_bounds(target: Target) -> tuple[bool, str]:
    """A group has a session timeout that the broker, started anew, would not take."""
    wire = _wire(target)
    wire.change_configs(GROUP, "g", [(SESSION, SET, "50000")]).must_succeed()
    _start_again(wire, target, {BOUND: "47000"})
    answer = wire.change_configs(GROUP, "g", [(INTERVAL, SET, "6000")])
    return not answer.error, f"{INTERVAL}=6000: {errors.name(answer.error)}"


def smallest_index(target: Target) -> tuple[bool, str]:
    """A topic with the smallest segment.index.bytes that is taken."""
    wire = _wire(target)
    wire.create_topic("small", configs={"segment.index.bytes": "4"}).must_succeed()
    sleep(SETTLES_S)
    error = wire.produce("small", batch("a"), retry=False).error
    return not error, f"Produce: {errors.name(error)}"


def _start_again(wire: Wire, target: Target, settings: dict[str, str]) -> None:
    (node,) = target.nodes.values()
    node.terminate()
    if settings and isinstance(node, TakesSettings):
        node.choose(settings)
    wire.drop_lines()
    target.recover()
    sleep(SETTLES_S)


def _wire(target: Target) -> Wire:
    addresses = [(host, int(port)) for host, _, port in (one.partition(":") for one in target.bootstrap.split(","))]
    return Wire.unrecorded(CaseContext(prefix="", case=""), addresses)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "kafka:4.4.0"))
