"""Gives leadership of the broker's own topics back after a case that hurt nodes.

What a kill moved, a broker moves back when it likes: Kafka looks every five minutes (auto.leader.rebalance.enable,
leader.imbalance.check.interval.seconds). A coordinator that moves in the middle of a later case looks like a fault of
the broker there, and is ours.
"""

from __future__ import annotations

from collections.abc import Iterable

from brokertrial.suites.probe.failures import BrokerAtFault, NoResponse, NotApplicable, Unclear
from brokertrial.suites.probe.wire import Wire
from brokertrial.wire.messages import Struct, request

WITHIN_S, AGAIN_WITHIN_S = 30.0, 60.0
ELECTION_MS = 5_000
PREFERRED = 0

Places = dict[str, list[int]]


def restore_preferred_leaders(wire: Wire, nodes: int, *, of_all: bool = False) -> str | None:
    """Waits until all `nodes` serve and the first replica leads each partition of internal topics, or of
    all; else says what not.

    Asks for the elections, where the broker offers that. Only for nodes that are ours to hurt.
    """
    away: Places = {}
    try:
        wire.until(
            lambda: is_settled(wire, nodes, away, of_all), within=WITHIN_S, what="every node leads what it led before"
        )
    except (BrokerAtFault, NotApplicable, Unclear) as error:
        places = ", ".join(f"{topic}-{number}" for topic, numbers in away.items() for number in numbers)
        return f"leaders had not settled before the next case ({places or error})"
    finally:
        wire.drop_lines()
    return None


def await_leaders(wire: Wire, *, of_all: bool = False) -> None:
    """Waits until each node leads what it led before, of the broker's own topics or of all.

    What is under way when a leader moves back is done twice, or answered as if it had not been done. Where the broker
    holds no elections when asked, nothing is waited for.
    """
    count, away = len(wire.nodes), Places()
    if count > 1 and wire.versions("ElectLeaders"):
        wire.until(
            lambda: is_settled(wire, count, away, of_all), within=AGAIN_WITHIN_S, what="each node leads as before"
        )


def is_settled(wire: Wire, nodes: int, away: Places, of_all: bool = False) -> bool:
    """Whether nothing is left to move; `away` holds what is not led by its first replica."""
    try:
        told = wire.metadata(all_topics=True).struct
        away.clear()
        away.update(_away(topic for topic in told.topics if of_all or topic.is_internal))
        if away and wire.versions("ElectLeaders"):
            _elect(wire, away, told.controller_id)
    except NoResponse:  # a node on its way back
        return False
    return not away and len(told.brokers) == nodes


def _away(topics: Iterable[Struct]) -> Places:
    places: Places = {}
    for topic in topics:
        moved = [row.partition_index for row in topic.partitions if row.replica_nodes[:1] != [row.leader_id]]
        if moved:
            places[topic.name] = moved
    return places


def _elect(wire: Wire, away: Places, controller: int) -> None:
    rows = [{"topic": topic, "partitions": numbers} for topic, numbers in away.items()]
    wanted = request("ElectLeaders", election_type=PREFERRED, topic_partitions=rows, timeout_ms=ELECTION_MS)
    wire.ask(wanted, to=controller).error  # noqa: B018 - looked at, so settled; the next look tells what it did
