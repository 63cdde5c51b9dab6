"""The minimal replay of docs/finding-producer-without-records.md: a producer that a kill behind a stop has forgotten.

    python -m campaigns.producer_without_records [kafka:4.4.0]

An idempotent producer's batch is acknowledged; its segment is deleted (DeleteRecords), the newest one stays. Then the
node is stopped, killed, or both, a record is written after each, and the batch is sent again: it MUST be answered as
the duplicate that it is.

Exit status: 0, so it was; 1, it was not.
"""

from __future__ import annotations

import sys
from pathlib import Path

from brokertrial.histories.tempdirs import Scratch
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.targets import open_target
from brokertrial.suites.targets.base import Target
from brokertrial.wire import errors
from brokertrial.wire.messages import request

HOUR_MS, OTHERS, LARGE, WITHIN_S = 3_600_000, 4, 20_000, 60
WAYS = (("stop",), ("kill",), ("kill", "kill"), ("kill", "stop"), ("stop", "kill"), ("stop", "stop"))


def main(text: str) -> int:
    """Plays each order and prints what was seen; the exit status."""
    with Scratch("producer-without-records") as folder, open_target(text, Path(folder)) as target:
        print(f"{text}, version {target.version()}", flush=True)
        known = [played(target, way) for way in WAYS]
        return 0 if all(known) else 1


def played(target: Target, way: tuple[str, ...]) -> bool:
    """Whether the batch is still known after the node went in these ways."""
    addresses = [(host, int(port)) for host, _, port in (one.partition(":") for one in target.bootstrap.split(","))]
    wire, topic = Wire.unrecorded(CaseContext(prefix="", case=""), addresses), "-".join(way)
    wire.create_topic(topic, configs={"segment.ms": "60000", "file.delete.delay.ms": "0"}).must_succeed()
    wire.await_topic(topic)
    began = wire.now_ms() - 2 * OTHERS * HOUR_MS
    first = wire.producer().batch("first", sequence=0, timestamp=began)
    wire.produce(topic, first).must_be_at(0)
    for number in range(1, OTHERS + 1):
        wire.produce(topic, batch("x" * LARGE, timestamp=began + number * HOUR_MS)).must_be_at(number)
    wire.delete_records(topic, offset=OTHERS).must_succeed()
    wire.until(lambda: _size(wire, topic) < 2 * LARGE, within=WITHIN_S, what="all segments but the newest are gone")
    (node,) = target.nodes.values()
    for act in way:
        (node.terminate if act == "stop" else node.kill)()
        wire.drop_lines()
        target.recover()
        wire.await_topic(topic)
        wire.produce(topic, batch("after", timestamp=began + OTHERS * HOUR_MS)).must_succeed()
    answer = wire.produce(topic, first, retry=False)
    said = errors.name(answer.error) if answer.error else f"offset {answer.offset}"
    print(f"{', then '.join(way)}: sent again, the batch of offset 0 is answered with {said}", flush=True)
    return not answer.error and answer.offset == 0


def _size(wire: Wire, topic: str) -> int:
    asked = request("DescribeLogDirs", topics=[{"topic": topic, "partitions": [0]}])
    answer = wire.ask(asked, to=wire.leader(topic)).must_succeed()
    return sum(part.partition_size for each in answer.struct.results for row in each.topics for part in row.partitions)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "kafka:4.4.0"))
