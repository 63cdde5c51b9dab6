"""Moves the leaders of all partitions to their next replicas, and with those of internal topics the coordinators.

The order of the replicas is what changes (AlterPartitionReassignments, KIP-455), then each first one is elected
(ElectLeaders, KIP-460): nothing is copied, and every node stays in sync.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from brokertrial.suites.probe.failures import NoResponse
from brokertrial.suites.probe.wire import Wire
from brokertrial.wire.messages import Struct, request

WITHIN_S = 30.0
ELECTION_MS = 5_000
PREFERRED = 0

Order = dict[tuple[str, int], list[int]]


def move_leaders(wire: Wire) -> None:
    """Raises where they have not moved within `WITHIN_S`."""
    wanted = _next_order(wire.metadata(all_topics=True).struct.topics)
    try:
        wire.until(lambda: _is_moved(wire, wanted), within=WITHIN_S, what="the next replica leads each partition")
    finally:
        wire.drop_lines()


def _next_order(topics: Iterable[Struct]) -> Order:
    """The second replica first, the first last."""
    return {
        (topic.name, row.partition_index): [*row.replica_nodes[1:], *row.replica_nodes[:1]]
        for topic in topics
        for row in topic.partitions
        if len(row.replica_nodes) > 1
    }


def _is_moved(wire: Wire, wanted: Order) -> bool:
    """One look; asks for what is still missing. Topics that are deleted meanwhile are left out."""
    try:
        told = wire.metadata(all_topics=True).struct
        now = {(topic.name, row.partition_index): row for topic in told.topics for row in topic.partitions}
        here = {place: order for place, order in wanted.items() if place in now}
        reordered = {place: order for place, order in here.items() if now[place].replica_nodes != order}
        away = [place for place, order in here.items() if now[place].leader_id != order[0]]
        if reordered:
            _reorder(wire, reordered, told.controller_id)
        elif away:
            _elect(wire, away, told.controller_id)
        return not reordered and not away
    except NoResponse:
        return False


def _reorder(wire: Wire, wanted: Mapping[tuple[str, int], list[int]], controller: int) -> None:
    rows: dict[str, list[dict[str, object]]] = {}
    for (topic, index), order in wanted.items():
        rows.setdefault(topic, []).append({"partition_index": index, "replicas": order})
    topics = [{"name": topic, "partitions": parts} for topic, parts in rows.items()]
    asked = request("AlterPartitionReassignments", timeout_ms=ELECTION_MS, topics=topics)
    _ = wire.ask(asked, to=controller).error  # what did not work is asked for again at the next look


def _elect(wire: Wire, away: Iterable[tuple[str, int]], controller: int) -> None:
    rows: dict[str, list[int]] = {}
    for topic, index in away:
        rows.setdefault(topic, []).append(index)
    wanted = [{"topic": topic, "partitions": indexes} for topic, indexes in rows.items()]
    asked = request("ElectLeaders", election_type=PREFERRED, topic_partitions=wanted, timeout_ms=ELECTION_MS)
    _ = wire.ask(asked, to=controller).error
