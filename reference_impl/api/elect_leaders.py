"""ElectLeaders (KIP-460): gives leadership back to the first replica (type 0), or to any that is alive (1, unclean).

Versions 0-2. The right one leads: ELECTION_NOT_NEEDED (84), left out where all partitions were asked for, and the topic
named with no result; the first replica is not in sync: 80; nobody is alive: 83; unknown: 3; election type other than 0
and 1: INVALID_REQUEST, also of each partition, unless none is named.
"""

from __future__ import annotations

from typing import Any

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles
from brokertrial.reference_impl.api.broker import Broker
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response

_UNCLEAN = 1
_WHY = {
    errors.UNKNOWN_TOPIC_OR_PARTITION: "No such topic or partition.",
    errors.ELECTION_NOT_NEEDED: "Leader election not needed for topic partition.",
    errors.PREFERRED_LEADER_NOT_AVAILABLE: "The preferred leader is not available.",
    errors.ELIGIBLE_LEADERS_NOT_AVAILABLE: "No replica is available to lead.",
}


@handles("ElectLeaders", 0, 2, forwarded=True)
def elect_leaders(request: Struct, context: Context) -> Struct:
    """One result for each partition asked for."""
    node, unclean = context.node, request.election_type == _UNCLEAN
    if request.election_type not in (0, _UNCLEAN) and request.topic_partitions != []:
        return _refused(request)
    if request.topic_partitions is None:
        everything = [] if bugs.on("D93") else node.topics.all()
        asked = [(topic.name, list(range(topic.partitions))) for topic in everything]
    else:
        asked = [(topic.topic, list(topic.partitions)) for topic in request.topic_partitions]
    results = []
    for name, indexes in asked:
        lines = [_result(node, name, index, unclean=unclean) for index in (indexes[:1] if bugs.on("H11") else indexes)]
        if request.topic_partitions is None:
            lines = [line for line in lines if line["error_code"] != errors.ELECTION_NOT_NEEDED]
        results.append({"topic": name, "partition_result": lines})
    return response("ElectLeaders", replica_election_results=results)


def _refused(request: Struct) -> Struct:
    """An election of no type that there is: said of the whole and of each partition."""
    results = [
        {
            "topic": topic.topic,
            "partition_result": [
                {"partition_id": index, "error_code": errors.INVALID_REQUEST, "error_message": "Unknown election type"}
                for index in topic.partitions
            ],
        }
        for topic in request.topic_partitions or ()
    ]
    return response("ElectLeaders", error_code=errors.INVALID_REQUEST, replica_election_results=results)


def _result(node: Broker, name: str, index: int, *, unclean: bool) -> dict[str, Any]:
    topic = node.topics.get(name)
    if topic is None or not node.topics.has(name, index):
        error = errors.UNKNOWN_TOPIC_OR_PARTITION
    else:
        error = node.controller.elect(topic, index, unclean=unclean)
        for other in range(topic.partitions) if unclean and bugs.on("B165") else ():
            node.controller.elect(topic, other, unclean=True)
    if error == errors.ELECTION_NOT_NEEDED and bugs.on("H10"):
        error = errors.NONE
    return {"partition_id": index, "error_code": error, "error_message": _WHY.get(error)}
