"""Has the coordinator of a group write, so that what it reports of the group is the newest that it knows.

After a move Kafka may report what was committed when the new coordinator began to read its log, without the record
that was written last: a high watermark that rises while it reads is ignored until something else is written
(CoordinatorRuntime.HighWatermarkListener; docs/finding-coordinator-behind.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from brokertrial.suites.probe.wire import Wire

OFFSETS_TOPIC = "__consumer_offsets"


def make_coordinator_write(wire: Wire, group: str) -> None:
    """Commits for another group of the same partition, on clusters where coordinators move."""
    if len(wire.nodes) == 1 or not wire.versions("OffsetCommit"):
        return
    told = wire.metadata(OFFSETS_TOPIC, *wire.made_topics).struct.topics
    partitions = next((len(row.partitions) for row in told if row.name == OFFSETS_TOPIC), 0)
    if not partitions:
        return
    there = [row.name for row in told if row.name != OFFSETS_TOPIC and not row.error_code]
    topic = there[0] if there else wire.new_topic("beside")
    wanted, base = coordinator_partition(group, partitions), wire.name("beside")
    names = (f"{base}-{number}" for number in count())
    beside = next(name for name in names if coordinator_partition(name, partitions) == wanted)
    wire.commit(beside, topic, offset=1).examined = True  # refused, it has written nothing, and that is no verdict


def names_in(wire: Wire, partition: int, partitions: int) -> Iterator[str]:
    """Unused names of groups or transactional ids that lie in one of so many partitions, without end."""
    base = wire.name("in")
    names = (f"{base}-{number}" for number in count())
    return (name for name in names if coordinator_partition(name, partitions) == partition)


def coordinator_partition(group: str, partitions: int) -> int:
    """The partition of __consumer_offsets whose leader coordinates a group (Utils.abs of String.hashCode)."""
    value = 0
    for letter in group:
        value = (31 * value + ord(letter)) % (1 << 32)
    return (value if value < 1 << 31 else (1 << 32) - value) % (1 << 31) % partitions
