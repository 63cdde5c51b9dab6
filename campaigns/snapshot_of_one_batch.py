"""The minimal replay of docs/finding-producer-snapshot.md: what a broker remembers of a producer over a clean stop.

    python -m campaigns.snapshot_of_one_batch [kafka:4.4.0]

Three batches of an idempotent producer, then the node is stopped in good order and started, and each batch is sent
again: all three are among the last five, so each MUST be answered as the duplicate that it is. The same with kill -9.

Exit status: 0, so it was; 1, it was not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from brokertrial.histories.tempdirs import Scratch
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.produce import Produced
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.targets import open_target
from brokertrial.suites.targets.base import Target
from brokertrial.wire import errors

VALUES = ("a", "b", "c")


def main(text: str) -> int:
    """Plays it and prints what was seen; the exit status."""
    with Scratch("snapshot") as folder, open_target(text, Path(folder)) as target:
        print(f"{text}, version {target.version()}")
        (node,) = target.nodes.values()
        killed = played(target, "killed", node.kill)
        stopped = played(target, "stopped", node.terminate)
        return 0 if killed and stopped else 1


def played(target: Target, topic: str, end: Callable[[], object]) -> bool:
    """Whether each batch is still known after the node went in this way."""
    addresses = [(host, int(port)) for host, _, port in (one.partition(":") for one in target.bootstrap.split(","))]
    wire = Wire.unrecorded(CaseContext(prefix="", case=""), addresses)
    wire.create_topic(topic).must_succeed()
    wire.await_topic(topic)
    producer = wire.producer()
    sent = [producer.batch(value, sequence=number) for number, value in enumerate(VALUES)]
    for number, made in enumerate(sent):
        wire.produce(topic, made).must_be_at(number)
    end()
    wire.drop_lines()
    target.recover()
    wire.await_topic(topic)
    names = [_answer(wire.produce(topic, made, retry=False)) for made in sent]
    print(f"{topic}: sent again, the batches 0, 1, 2 are answered {', '.join(names)}")
    return names == [f"offset {number}" for number in range(len(sent))]


def _answer(told: Produced) -> str:
    code = told.error
    return errors.name(code) if code else f"offset {told.offset}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "kafka:4.4.0"))
