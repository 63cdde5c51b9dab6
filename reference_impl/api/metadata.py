"""Metadata: brokers, topics, partitions and their leaders.

Versions 0-13. v0: an empty list asks for all topics; v1+: null asks for all, empty for none. v10+ topic ids, v12+
look-up by id. An unknown topic is created if the request and `auto.create.topics.enable` allow it, and is complete in
the same answer (Kafka answers LEADER_NOT_AVAILABLE or UNKNOWN_TOPIC_OR_PARTITION first and creates it meanwhile;
clients ask again). Authorised operations: all that Kafka lists without an authoriser, when asked for. Gaps: one
broker, which is leader and controller of everything; no racks.
"""

from __future__ import annotations

from reference_impl import bugs
from reference_impl.api import Context, handles
from reference_impl.control.image import Topic
from reference_impl.node import CONSUMER_OFFSETS, TRANSACTION_STATE, Node
from reference_impl.topic_rules import collision, name_fault
from wire import errors
from wire.messages import ZERO_UUID, Struct, response

NOT_ASKED = -(1 << 31)
TOPIC_OPERATIONS, CLUSTER_OPERATIONS = 3576, 8096


@handles("Metadata", 0, 13)
def metadata(request: Struct, context: Context) -> Struct:
    """The cluster, and the topics asked for."""
    node = context.node
    if request.topics is None or (context.version == 0 and not request.topics):
        topics = [_present(node, topic) for topic in node.topics.all()]
    elif context.version < 12 and any(t.name is None or t.topic_id != ZERO_UUID for t in request.topics):
        refused = [{"error_code": errors.INVALID_REQUEST, "name": t.name or ""} for t in request.topics]
        return response("Metadata", topics=refused)
    else:
        asked_once = {(wanted.name, wanted.topic_id): wanted for wanted in request.topics}.values()
        topics = [_wanted(node, wanted, request.allow_auto_topic_creation) for wanted in asked_once]
    if request.include_topic_authorized_operations:
        for found in topics:
            found["topic_authorized_operations"] = TOPIC_OPERATIONS if found["error_code"] == 0 else NOT_ASKED
    asked = request.include_cluster_authorized_operations
    return response(
        "Metadata",
        brokers=[{"node_id": node.node_id, "host": node.host, "port": node.port}],
        cluster_id=node.cluster_id,
        controller_id=node.node_id,
        topics=topics,
        cluster_authorized_operations=CLUSTER_OPERATIONS if asked else NOT_ASKED,
    )


def _wanted(node: Node, wanted: Struct, may_create: bool) -> dict[str, object]:
    if wanted.name is None or (wanted.topic_id != ZERO_UUID and wanted.name == ""):
        topic = node.topics.by_id(wanted.topic_id)
        if topic is None:
            return {"error_code": errors.UNKNOWN_TOPIC_ID, "name": None, "topic_id": wanted.topic_id, "partitions": []}
        return _present(node, topic)
    name = wanted.name
    topic = node.topics.get(name)
    if topic is not None:
        return _present(node, topic)
    if fault := name_fault(name):
        return _absent(name, fault.error)
    if not (may_create and node.config["auto.create.topics.enable"]) and not bugs.on("M40d"):
        return _absent(name, errors.UNKNOWN_TOPIC_OR_PARTITION)
    if fault := collision(name, (t.name for t in node.topics.all())):
        return _absent(name, fault.error)
    if name in (CONSUMER_OFFSETS, TRANSACTION_STATE):
        return _present(node, node.ensure_internal(name))
    return _present(node, node.create_topic(name, node.config["num.partitions"], {}))


def _absent(name: str, error: int) -> dict[str, object]:
    internal = name in (CONSUMER_OFFSETS, TRANSACTION_STATE)
    return {"error_code": error, "name": name, "is_internal": internal, "partitions": []}


def _present(node: Node, topic: Topic) -> dict[str, object]:
    return {
        "error_code": errors.NONE,
        "name": topic.name,
        "topic_id": topic.id,
        "is_internal": topic.internal,
        "partitions": [_leader_of(node, topic.name, index) for index in range(topic.partitions)],
    }


def _leader_of(node: Node, topic: str, index: int) -> dict[str, object]:
    partition = node.partition(topic, index)
    return {
        "error_code": errors.NONE,
        "partition_index": index,
        "leader_id": node.node_id,
        "leader_epoch": 0 if partition is None else partition.leader_epoch,
        "replica_nodes": [node.node_id],
        "isr_nodes": [node.node_id],
    }
