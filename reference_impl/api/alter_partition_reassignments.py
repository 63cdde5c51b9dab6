"""AlterPartitionReassignments and ListPartitionReassignments (KIP-455): partitions move to other brokers.

Versions 0-1 and 0. New replicas are added first; when they are in sync, those that are no longer wanted go. Null
replicas call a reassignment off (85 if there is none). Errors by partition: 3 unknown, 39 no replicas, one twice, or a
broker that never registered, 38 another number of them where the request forbids it (v1; where it names no topic the
answer does not repeat that).
"""

from __future__ import annotations

from typing import Any

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles
from brokertrial.reference_impl.api.broker import Broker
from brokertrial.reference_impl.control.image import Placement
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response


@handles("AlterPartitionReassignments", 0, 1, forwarded=True)
def alter_partition_reassignments(request: Struct, context: Context) -> Struct:
    """Each partition on its own."""
    answers = []
    for topic in request.topics:
        if context.version == 0 and bugs.on("B77"):
            request.allow_replication_factor_change = False
        lines = [_altered(context.node, topic.name, part, request) for part in topic.partitions]
        answers.append({"name": topic.name, "partitions": lines})
    return response(
        "AlterPartitionReassignments",
        responses=answers,
        allow_replication_factor_change=request.allow_replication_factor_change or not request.topics,
        error_message=None,
    )


def _altered(node: Broker, name: str, part: Struct, request: Struct) -> dict[str, Any]:
    index, topic = part.partition_index, node.topics.get(name)
    if topic is None or not node.topics.has(name, index):
        error = errors.UNKNOWN_TOPIC_OR_PARTITION
    elif not request.allow_replication_factor_change and _changes_factor(node, topic.placements[index], part.replicas):
        error = errors.INVALID_REPLICATION_FACTOR
    elif bugs.on("B336") and any(_is_wrong(node, topic.placements[index], one) for one in _of(request, name)):
        error = errors.INVALID_REPLICA_ASSIGNMENT
    else:
        cancels = part.replicas is None or (not part.replicas and bugs.on("B337"))
        error = node.controller.reassign(topic, index, None if cancels else list(part.replicas))
    return {"partition_index": index, "error_code": error, "error_message": errors.name(error) if error else None}


def _of(request: Struct, name: str) -> list[Struct]:
    return [part for topic in request.topics if topic.name == name for part in topic.partitions]


def _is_wrong(node: Broker, placement: Placement, part: Struct) -> bool:
    return part.replicas is not None and not node.controller.can_hold(placement, list(part.replicas))


def _changes_factor(node: Broker, placement: Placement, after: list[int] | None) -> bool:
    """Where a reassignment is under way its target counts; what calls one off changes nothing (KIP-860).

    Brokers that cannot hold the partition are refused as such.
    """
    if after is None:
        return bugs.on("B196")
    if not node.controller.can_hold(placement, list(after)):
        return False
    before = [one for one in placement.replicas if one not in placement.removing]
    return len(after) != len(before)


@handles("ListPartitionReassignments", 0, 0, forwarded=True)
def list_partition_reassignments(request: Struct, context: Context) -> Struct:
    """What is on the move; null topics ask for all."""
    node = context.node
    if request.topics is None:
        asked = [(topic.name, list(range(topic.partitions))) for topic in node.topics.all()]
    else:
        asked = [(topic.name, list(topic.partition_indexes)) for topic in request.topics]
    if bugs.on("B274"):
        asked = [(name, list(range(topic.partitions))) for name, _ in asked if (topic := node.topics.get(name))]
    topics = []
    for name, indexes in asked:
        lines = [line for index in indexes if (line := _moving(node, name, index)) is not None]
        if lines:
            topics.append({"name": name, "partitions": lines})
    return response("ListPartitionReassignments", topics=topics, error_message=None)


def _moving(node: Broker, name: str, index: int) -> dict[str, Any] | None:
    topic = node.topics.get(name)
    if topic is None or not node.topics.has(name, index):
        return None
    placement = topic.placements[index]
    if not placement.adding and not placement.removing and not bugs.on("H13"):
        return None
    return {
        "partition_index": index,
        "replicas": [one for one in placement.replicas if one not in placement.removing or not bugs.on("B277")],
        "adding_replicas": placement.adding,
        "removing_replicas": placement.removing,
    }
