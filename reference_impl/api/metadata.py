"""Metadata: brokers, topics, partitions and their leaders.

Versions 0-13. v0: an empty list asks for all topics; v1+: null asks for all, empty for none. v10+ topic ids, v12+
look-up by id. An unknown topic is created if the request and `auto.create.topics.enable` allow it, and is complete in
the same answer (Kafka answers LEADER_NOT_AVAILABLE or UNKNOWN_TOPIC_OR_PARTITION first and creates it meanwhile;
clients ask again; so does a broker of a cluster). One request creates 100 at most, the rest when it is asked again:
others want the loop too. A partition whose leader is not there: LEADER_NOT_AVAILABLE.
Authorised operations: all that Kafka lists without an authoriser, when asked for.
"""

from __future__ import annotations

from collections.abc import Iterator

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles, racks
from brokertrial.reference_impl.api.broker import Broker
from brokertrial.reference_impl.control.image import NOBODY, TopicImage
from brokertrial.reference_impl.coordinator.topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from brokertrial.reference_impl.settings.topic_rules import collision, name_fault
from brokertrial.wire import errors
from brokertrial.wire.messages import ZERO_UUID, Struct, response

NOT_ASKED = -(1 << 31)
_CREATED_AT_ONCE = 100
TOPIC_OPERATIONS, CLUSTER_OPERATIONS = 3576, 8096


@handles("Metadata", 0, 13)
def metadata(request: Struct, context: Context) -> Struct:
    """The cluster, and the topics asked for."""
    node = context.node
    if request.topics is None or (not request.topics and (context.version == 0 or bugs.on("P60"))):
        topics = [_present(node, topic) for topic in node.topics.all()]
    elif context.version < (10 if bugs.on("H26") else 12) and any(
        t.name is None or t.topic_id != ZERO_UUID for t in request.topics
    ):
        refused = [{"error_code": errors.INVALID_REQUEST, "name": t.name or ""} for t in request.topics]
        return response("Metadata", topics=refused)
    else:
        asked_once = {(wanted.name, wanted.topic_id): wanted for wanted in request.topics}.values()
        allowed = request.allow_auto_topic_creation and not (context.version < 4 and bugs.on("V15"))
        if bugs.on("B357"):
            allowed = allowed and not any(name_fault(wanted.name) for wanted in asked_once if wanted.name is not None)
        creations = iter(range(_CREATED_AT_ONCE if allowed else 0))
        topics = [_wanted(node, wanted, creations) for wanted in asked_once]
    if len(topics) < len(request.topics or ()) and bugs.on("P61"):
        topics = [_absent(str(t["name"]), errors.INVALID_REQUEST) for t in topics]
    for found in topics if context.version < 9 and bugs.on("Q16") else ():
        found["partitions"] = found["partitions"][:-1] or found["partitions"]  # type: ignore[index]
    for found in topics if context.version < 10 and bugs.on("C10") else ():
        found["is_internal"] = False
    if request.include_topic_authorized_operations and not bugs.on("S07"):
        for found in topics:
            found["topic_authorized_operations"] = TOPIC_OPERATIONS
    asked = request.include_cluster_authorized_operations
    return response(
        "Metadata",
        brokers=[
            {"node_id": one, "host": host, "port": port, "rack": racks.of(node, one)}
            for one, (host, port) in node.live_brokers().items()
        ],
        cluster_id=node.cluster_id,
        controller_id=node.shown_controller,
        topics=topics,
        cluster_authorized_operations=CLUSTER_OPERATIONS if asked else NOT_ASKED,
    )


def _wanted(node: Broker, wanted: Struct, creations: Iterator[int]) -> dict[str, object]:
    if wanted.name is None or (wanted.topic_id != ZERO_UUID and (wanted.name == "" or not bugs.on("H27"))):
        topic = node.topics.by_id(wanted.topic_id)
        if topic is None or (bugs.on("B124") and all(node.node_id not in p.replicas for p in topic.placements)):
            lost = errors.UNKNOWN_TOPIC_OR_PARTITION if bugs.on("S06") else errors.UNKNOWN_TOPIC_ID
            return {"error_code": lost, "name": None, "topic_id": wanted.topic_id, "partitions": []}
        return _present(node, topic)
    name = wanted.name
    topic = node.topics.get(name)
    if topic is not None:
        return _present(node, topic)
    if fault := name_fault(name):
        return _absent(name, fault.error)
    may_create = node.config["auto.create.topics.enable"] and next(creations, None) is not None
    if not may_create and not bugs.on("M40d"):
        return _absent(name, errors.UNKNOWN_TOPIC_OR_PARTITION)
    if fault := collision(name, (t.name for t in node.topics.all())):
        return _absent(name, fault.error)
    if name in (CONSUMER_OFFSETS, TRANSACTION_STATE):
        made = node.ensure_internal(name)
        return _absent(name, errors.UNKNOWN_TOPIC_OR_PARTITION) if made is None else _present(node, made)
    if node.in_cluster:
        node.ask_for_topic(name)
        return _absent(name, errors.UNKNOWN_TOPIC_OR_PARTITION)
    return _present(node, node.create_topic(name, node.config["num.partitions"], {}))


def _absent(name: str, error: int) -> dict[str, object]:
    internal = name in (CONSUMER_OFFSETS, TRANSACTION_STATE)
    return {"error_code": error, "name": name, "is_internal": internal, "partitions": []}


def _present(node: Broker, topic: TopicImage) -> dict[str, object]:
    return {
        "error_code": errors.NONE,
        "name": topic.name,
        "topic_id": topic.id,
        "is_internal": topic.internal,
        "partitions": [described(node, topic, index) for index in range(topic.partitions)],
    }


def described(node: Broker, topic: TopicImage, index: int) -> dict[str, object]:
    """Who holds and leads a partition, as this node knows it."""
    placement, live = topic.placements[index], node.live_brokers()
    leader = placement.leader if placement.leader in live else NOBODY
    return {
        "error_code": errors.NONE if leader != NOBODY else errors.LEADER_NOT_AVAILABLE,
        "partition_index": index,
        "leader_id": leader,
        "leader_epoch": 0 if bugs.on("H29") else placement.leader_epoch,
        "replica_nodes": [*placement.replicas, 99] if bugs.on("P59") else placement.replicas,
        "isr_nodes": [] if leader == NOBODY and bugs.on("Z39") else placement.isr,
        "offline_replicas": [
            one for one in placement.replicas if one not in live and (one in placement.isr or not bugs.on("B328"))
        ],
    }
