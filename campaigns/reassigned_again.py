"""The minimal replays of docs/finding-reassigned-again.md: a reassignment that is changed while it is under way.

    python -m campaigns.reassigned_again [kafka:4.4.0?nodes=3]
    python -m campaigns.reassigned_again --to-where-it-is [kafka:4.4.0?nodes=3]

Three nodes; a partition on one of them is to move to two others, of which one is down, so that the move waits. Then it
is to move to the one that is down alone. That one comes back and is in sync: the reassignment MUST end, with the
partition on that node alone.

With --to-where-it-is a partition on two nodes is to move from the second to the third, which is down. Then it is to be
on all three, in the order in which they are listed meanwhile. Once the third is back, it MUST be on all three.

Exit status: 0, it came to be where it was sent last; 1, it did not within a minute.
"""

from __future__ import annotations

import sys
from pathlib import Path

from brokertrial.histories.tempdirs import Scratch
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.failures import StatementFalse
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.targets import open_target
from brokertrial.suites.targets.base import Target
from brokertrial.wire.messages import request

TOPIC, WITHIN_S = "moved", 60
TO_WHERE_IT_IS = "--to-where-it-is"


def main(words: list[str]) -> int:
    """Plays it and prints what was seen; the exit status."""
    play = played_to_where_it_is if TO_WHERE_IT_IS in words else played
    text = next((word for word in words if word != TO_WHERE_IT_IS), "kafka:4.4.0?nodes=3")
    with Scratch("reassigned") as folder, open_target(text, Path(folder)) as target:
        print(f"{text}, version {target.version()}")
        return 0 if play(target) else 1


def played(target: Target) -> bool:
    """Whether the partition comes to be where it was sent last, and no reassignment is left."""
    wire = _wire(target)
    stays = wire.controller()
    comes, away = (node for node in sorted(target.nodes) if node != stays)
    wire.create_topic(
        TOPIC, partitions=-1, assignments={0: [stays]}, configs={"min.insync.replicas": "1"}
    ).must_succeed()
    wire.await_topic(TOPIC)
    wire.produce(TOPIC, batch("a")).must_be_at(0)

    target.nodes[away].kill()
    wire.drop_lines(away)
    _reassign(wire, [comes, away], stays)
    wire.until(lambda: comes in _in_sync(wire, stays), within=WITHIN_S, what=f"{comes} is in sync")
    print(f"from {[stays]} to {[comes, away]}, with {away} down:", _moves(wire, stays))
    _reassign(wire, [away], stays)
    print(f"and then to {[away]}:", _moves(wire, stays))
    target.recover()
    wire.until(lambda: away in _in_sync(wire, stays), within=WITHIN_S, what=f"{away} is in sync")
    try:
        wire.until(lambda: not _moves(wire, stays), within=WITHIN_S, what="the reassignment ends")
    except StatementFalse as why:
        print(f"{why}; in sync are {_in_sync(wire, stays)}: {_moves(wire, stays)}")
        return False
    print("it ended; in sync are", _in_sync(wire, stays))
    return _in_sync(wire, stays) == [away]


def played_to_where_it_is(target: Target) -> bool:
    """Whether the partition comes to be on all three, which are its replicas while it moves from two to two."""
    wire = _wire(target)
    stays = wire.controller()
    goes, away = (node for node in sorted(target.nodes) if node != stays)
    wire.create_topic(TOPIC, partitions=-1, assignments={0: [stays, goes]}).must_succeed()
    wire.await_topic(TOPIC)
    target.nodes[away].kill()
    wire.drop_lines(away)
    _reassign(wire, [stays, away], stays)
    wire.until(lambda: away in _replicas(wire, stays), within=WITHIN_S, what="the reassignment has begun")
    print(f"from {[stays, goes]} to {[stays, away]}, with {away} down:", _moves(wire, stays))
    wanted = _replicas(wire, stays)
    _reassign(wire, wanted, stays)
    print(f"and then to {wanted}:", _moves(wire, stays))
    target.recover()
    wire.until(lambda: not _moves(wire, stays), within=WITHIN_S, what="the reassignment ends")
    print("it ended; it is on", _replicas(wire, stays))
    return _replicas(wire, stays) == wanted


def _wire(target: Target) -> Wire:
    addresses = [(host, int(port)) for host, _, port in (one.partition(":") for one in target.bootstrap.split(","))]
    return Wire.unrecorded(CaseContext(prefix="", case=""), addresses)


def _reassign(wire: Wire, replicas: list[int], asked: int) -> None:
    """AlterPartitionReassignments, which must be accepted."""
    rows = [{"name": TOPIC, "partitions": [{"partition_index": 0, "replicas": replicas}]}]
    wire.ask(request("AlterPartitionReassignments", timeout_ms=10_000, topics=rows), to=asked).must_succeed()


def _replicas(wire: Wire, asked: int) -> list[int]:
    return list(wire.metadata(TOPIC, to=asked).struct.topics[0].partitions[0].replica_nodes)


def _in_sync(wire: Wire, asked: int) -> list[int]:
    row = wire.metadata(TOPIC, to=asked).struct.topics[0].partitions[0]
    return sorted(row.isr_nodes)


def _moves(wire: Wire, asked: int) -> str:
    """Replicas, those that are being added and removed; empty where nothing is on the move."""
    answer = wire.ask(request("ListPartitionReassignments", timeout_ms=10_000, topics=None), to=asked).must_succeed()
    rows = [part for topic in answer.struct.topics for part in topic.partitions]
    return "; ".join(
        f"replicas {[*row.replicas]}, adding {[*row.adding_replicas]}, removing {[*row.removing_replicas]}"
        for row in rows
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
