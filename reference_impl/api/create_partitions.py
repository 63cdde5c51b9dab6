"""CreatePartitions (KIP-195): sets the new total; what is there stays as it is.

Versions 0-3. A total that is not larger: INVALID_PARTITIONS; unknown topic: 3; the same topic twice: INVALID_REQUEST;
a hand-made placement that does not fit: INVALID_REPLICA_ASSIGNMENT; more than 10,000 at once: 44. validate_only checks
and makes nothing.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles
from brokertrial.reference_impl.api.broker import Broker
from brokertrial.reference_impl.settings.topic_rules import WrongSetting, assignment_fault, batch_fault
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response


@handles("CreatePartitions", 0, 3, forwarded=True)
def create_partitions(request: Struct, context: Context) -> Struct:
    """Grows each topic on its own."""
    names = Counter(topic.name for topic in request.topics)
    results: list[dict[str, Any]] = []
    for wanted in {topic.name: topic for topic in request.topics}.values():
        make = not request.validate_only and not (bugs.on("A03") and any(row["error_code"] for row in results))
        fault = _grow(wanted, context.node, twice=names[wanted.name] > 1, make=make)
        error, message = (errors.NONE, None) if fault is None else fault
        results.append({"name": wanted.name, "error_code": error, "error_message": message})
    return response("CreatePartitions", results=results)


def _grow(wanted: Struct, node: Broker, *, twice: bool, make: bool) -> WrongSetting | None:
    topic = node.topics.get(wanted.name)
    if twice:
        return WrongSetting(errors.INVALID_REQUEST, "Duplicate topic name.")
    if topic is None:
        return WrongSetting(errors.UNKNOWN_TOPIC_OR_PARTITION, None)
    count = wanted.count + topic.partitions if bugs.on("M40e") else wanted.count
    if count <= topic.partitions and bugs.on("P11"):
        return None
    if count == topic.partitions:
        return WrongSetting(errors.INVALID_PARTITIONS, f"Topic already has {count} partition(s).")
    if count < topic.partitions:
        return WrongSetting(
            errors.INVALID_PARTITIONS,
            f"The topic {topic.name} currently has {topic.partitions} partition(s); {count} would not be an increase.",
        )
    if any(one.adding or one.removing for one in topic.placements) and bugs.on("Z38"):
        return WrongSetting(errors.REASSIGNMENT_IN_PROGRESS, "A partition reassignment is in progress for the topic.")
    if batch_fault(count - topic.partitions):
        return WrongSetting(errors.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")
    if wanted.assignments is not None:
        more = count - topic.partitions
        if len(wanted.assignments) != more:
            return WrongSetting(
                errors.INVALID_REPLICA_ASSIGNMENT,
                f"Attempted to add {more} additional partition(s), but only {len(wanted.assignments)} assignment(s) "
                "were specified.",
            )
        placed = {index: list(entry.broker_ids) for index, entry in enumerate(wanted.assignments)}
        replicas = 0 if bugs.on("Z53") else len(topic.placements[0].replicas)
        fault = assignment_fault(placed, node.known_brokers(), node.live_brokers(), replicas)
        if fault and not bugs.on("P12"):
            return fault
    if make:
        more = None if wanted.assignments is None else [list(entry.broker_ids) for entry in wanted.assignments]
        node.grow_topic(topic, count, more)
    return None
