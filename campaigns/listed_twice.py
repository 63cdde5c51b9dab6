"""The minimal replay of docs/finding-listed-twice.md: a group that Apache Kafka lists twice.

    python -m campaigns.listed_twice [kafka:4.4.0]

ListGroups MUST name each group once. Three classic members with 6 kB of metadata each are in a group of KIP-848. Its
last member of KIP-848 leaves, so that the group would become a classic one, while the log of the coordinator takes no
batch of more than 10 kB: the leave is refused, and the group stays what it was.

Exit status: 0, so it was; 1, it was listed twice; 2, the leave was taken.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

from brokertrial.histories.tempdirs import Scratch
from brokertrial.suites.probe.admin import SET, TOPIC
from brokertrial.suites.probe.classic_member import Member
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.targets import open_target
from brokertrial.suites.targets.base import Target
from brokertrial.wire import errors

MEMBERS, EACH, TAKES, WITHIN_S = 3, 6_000, 10_000, 30
OFFSETS, GROUP, READ = "__consumer_offsets", "listed", "read"
SUBSCRIPTION = struct.pack(">hih4si", 0, 1, len(READ), READ.encode(), EACH) + bytes(EACH)


def main(text: str) -> int:
    """Plays it and prints what was seen; the exit status."""
    with Scratch("listed") as folder, open_target(text, Path(folder)) as target:
        print(f"{text}, version {target.version()}")
        wire = _wire(target)
        modern = _grown(wire)
        wire.change_configs(TOPIC, OFFSETS, [("max.message.bytes", SET, str(TAKES))]).must_succeed()
        left = modern.leave()
        print(f"the leave is answered {errors.name(left.error)}")
        if not left.error:
            return 2
        found = _listed(wire)
        print(f"the group is listed as {found}")
        return 0 if len(found) == 1 else 1


def _grown(wire: Wire) -> ConsumerGroupMember:
    """The member of KIP-848 of a group with three classic ones; each has a partition."""
    wire.commit(GROUP, READ, offset=0).must_succeed()
    modern = ConsumerGroupMember(wire, GROUP, READ)
    reconcile(modern, partitions=MEMBERS + 1)
    brings = [("range", SUBSCRIPTION)]
    old = [wire.member(GROUP, f"classic {number}", protocols=brings) for number in range(MEMBERS)]
    for member in old:
        member.join().must_succeed()
    wire.until(lambda: _shared(modern, old), within=WITHIN_S, what="each of four members has a partition")
    return modern


def _shared(modern: ConsumerGroupMember, old: list[Member]) -> bool:
    modern.beat().must_succeed()
    for member in old:
        if member.heartbeat().error == errors.REBALANCE_IN_PROGRESS:
            member.join().must_succeed()
        if member.sync().error:
            return False
    return len(modern.owned) == 1


def _listed(wire: Wire) -> list[str]:
    """The kinds under which it is listed."""
    answer = wire.list_groups(to=wire.coordinator(GROUP), version=5).must_succeed()
    return [row.group_type for row in answer.struct.groups if row.group_id == GROUP]


def _wire(target: Target) -> Wire:
    addresses = [(host, int(port)) for host, _, port in (one.partition(":") for one in target.bootstrap.split(","))]
    wire = Wire.unrecorded(CaseContext(prefix="", case=""), addresses)
    wire.create_topic(READ, partitions=MEMBERS + 1).must_succeed()
    wire.await_topic(READ)
    return wire


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "kafka:4.4.0"))
