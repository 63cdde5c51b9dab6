"""DescribeTopicPartitions (KIP-966): topics in the order of their names, page by page.

Version 0. An empty list asks for all topics; a cursor names where to go on; at most min(limit,
max.request.partition.size.limit) partitions an answer, then `next_cursor` names the first that was left out. Unknown
topic: 3; a cursor whose topic is not among those that are named, or with a negative index: 42 for all.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles
from brokertrial.reference_impl.api.broker import Broker
from brokertrial.reference_impl.api.metadata import TOPIC_OPERATIONS, described
from brokertrial.reference_impl.control.image import TopicImage
from brokertrial.reference_impl.settings.topic_rules import name_fault
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response

_LISTED: WeakKeyDictionary[Broker, list[str]] = WeakKeyDictionary()
"""For a planted bug: what was listed last."""


@handles("DescribeTopicPartitions", 0, 0)
def describe_topic_partitions(request: Struct, context: Context) -> Struct:
    """One page of the description."""
    node, cursor = context.node, request.cursor
    asked = {t.name for t in request.topics}
    names = sorted(asked) if asked else _all_names(node)
    first = 0
    early = cursor is not None and cursor.partition_index < 0 and not bugs.on("H20")
    if early or (cursor is not None and asked and cursor.topic_name not in asked):
        return _page([{"error_code": errors.INVALID_REQUEST, "name": name} for name in sorted(asked)], None)
    if cursor is not None:
        names = [name for name in names if name >= cursor.topic_name]
        first = max(cursor.partition_index, 0) if names and (names[0] == cursor.topic_name or bugs.on("W18")) else 0
    room = max(min(request.response_partition_limit, node.config["max.request.partition.size.limit"]), 1)
    if bugs.on("B323"):
        room = max(request.response_partition_limit, 1)
    if request.response_partition_limit < 1 and bugs.on("H19"):
        room = node.config["max.request.partition.size.limit"]
    topics: list[dict[str, Any]] = []
    for name in names:
        if room == 0:
            return _page(topics, {"topic_name": name, "partition_index": int(bugs.on("Q12"))})
        topic = _topic(node, name, first, room)
        topics.append(topic)
        listed = len(topic["partitions"])
        room -= listed
        known = node.topics.get(name)
        if known is not None and first + listed < known.partitions:
            go_on = listed if bugs.on("C11") else first + listed
            return _page(topics, {"topic_name": name, "partition_index": go_on})
        first = 0
    return _page(topics, None)


def _all_names(node: Broker) -> list[str]:
    names = sorted(topic.name for topic in node.topics.all())
    if bugs.on("B351"):
        if len(names) == len(_LISTED.get(node, [])):
            return list(_LISTED[node])
        _LISTED[node] = names
    return names


def _page(topics: list[dict[str, Any]], cursor: dict[str, Any] | None) -> Struct:
    return response("DescribeTopicPartitions", topics=topics, next_cursor=cursor)


def _topic(node: Broker, name: str, first: int, room: int) -> dict[str, Any]:
    topic = node.topics.get(name)
    if topic is None:
        error = errors.INVALID_TOPIC_EXCEPTION if name_fault(name) else errors.UNKNOWN_TOPIC_OR_PARTITION
        return {"error_code": error, "name": name, "partitions": [], "topic_authorized_operations": TOPIC_OPERATIONS}
    return {
        "error_code": errors.NONE,
        "name": name,
        "topic_id": topic.id,
        "is_internal": topic.internal and not bugs.on("H21"),
        "partitions": [_partition(node, topic, index) for index in range(first, min(first + room, topic.partitions))],
        "topic_authorized_operations": TOPIC_OPERATIONS,
    }


def _partition(node: Broker, topic: TopicImage, index: int) -> dict[str, Any]:
    return described(node, topic, index) | {"eligible_leader_replicas": [], "last_known_elr": []}
