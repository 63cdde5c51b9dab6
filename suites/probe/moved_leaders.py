"""Whether a leadership moved by itself while a case that had stopped nodes relied on it.

Such a case asks who leads once its nodes are back. A broker moves leaderships once more then, at a time of its own
(Kafka: auto.leader.rebalance.enable), and what is asked of the former leader is refused, or done twice.
"""

from __future__ import annotations

from brokertrial.suites.probe.failures import BrokerAtFault, NotApplicable, Unclear
from brokertrial.suites.probe.target_condition import MOVES
from brokertrial.suites.probe.topic_view import TopicView
from brokertrial.suites.probe.wire import Wire

MOST = 20
"""Of the topics, groups and transactional ids of a case those that are looked at."""


def moved_by_itself(wire: Wire) -> str:
    """What is led otherwise than the case last saw it, after the last of its nodes came back; empty where nothing is,
    where the case moves leaderships itself, and where it is not known."""
    if len(wire.nodes) == 1 or wire.traffic.apis & MOVES:
        return ""
    try:
        return _moved_topic(wire) or _moved_coordinator(wire)
    except (BrokerAtFault, NotApplicable, Unclear):
        return ""


def _moved_topic(wire: Wire) -> str:
    for topic, before in list(wire.last_shown.topics.items())[:MOST]:
        wire.refresh_metadata(topic)
        if partition := _moved(before, wire.last_shown.topics[topic]):
            return f"{topic}-{partition}"
    return ""


def _moved(before: TopicView, now: TopicView) -> str:
    """A partition of the same topic that another node leads; an epoch that rose by itself fences who knows the old."""
    if before.topic_id != now.topic_id:
        return ""
    moved = (
        partition
        for partition, leader in now.leaders.items()
        if min(leader, before.leaders.get(partition, -1)) >= 0
        and (leader, now.epochs[partition]) != (before.leaders[partition], before.epochs[partition])
    )
    return next(map(str, moved), "")


def _moved_coordinator(wire: Wire) -> str:
    for (kind, key), before in list(wire.last_shown.coordinators.items())[:MOST]:
        wire.forget_coordinator(key, kind)
        if (now := wire.coordinator(key, kind)) != before:
            return f"the coordinator of {key} (node {before}, then {now})"
    return ""
