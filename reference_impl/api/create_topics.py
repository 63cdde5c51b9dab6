"""CreateTopics: each topic of the request on its own, all of them checked as Kafka's controller does.

Versions 2-7. Errors: 17 name or collision, 36 exists, 37 partitions, 38 replication factor (more than there are
brokers), 39 assignment, 40 settings, 42 the same name twice, or a hand-made assignment together with counts, 44 for all
when they would have more than 10,000 partitions. -1 asks for the broker's defaults. validate_only checks and makes
nothing; the id of the answer is then nobody's.
"""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import Awaitable, Container, Iterator
from typing import Any

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles
from brokertrial.reference_impl.api.broker import Broker
from brokertrial.reference_impl.api.resources import TopicResource
from brokertrial.reference_impl.control.image import TopicImage
from brokertrial.reference_impl.coordinator.topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from brokertrial.reference_impl.settings.config import TopicRules
from brokertrial.reference_impl.settings.topic import TOPIC_SETTINGS
from brokertrial.reference_impl.settings.topic_rules import (
    WrongSetting,
    assignment_fault,
    batch_fault,
    collision,
    config_fault,
    name_fault,
    shape_fault,
)
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response

_AT_ONCE = 20

_METADATA_LOG = "__cluster_metadata"
_LEFT: dict[str, list[Struct]] = {}
"""What K01 remembers: the settings of refused topics."""
_EVER: set[str] = set()
"""What K02 remembers: all names that there were."""


@handles("CreateTopics", 2, 7, forwarded=True)
def create_topics(request: Struct, context: Context) -> Struct | Awaitable[Struct]:
    """Creates what can be created, and says why for the rest."""
    names = Counter(topic.name for topic in request.topics)
    if fault := batch_fault(_partitions_in_all(request, context.node)):
        return response("CreateTopics", topics=[_refused(name, fault) for name in names])
    if len(names) > _AT_ONCE:
        return _in_turns(request, context, names)
    return response("CreateTopics", topics=list(_answers(request, context, names)))


async def _in_turns(request: Struct, context: Context, names: Counter[str]) -> Struct:
    """Many topics, a few in each turn of the loop: others want to be served meanwhile."""
    done = []
    late = bugs.on("J05")  # what was free at the beginning is taken for free until the end
    free = {one.name for one in request.topics if context.node.topics.get(one.name) is None} if late else ()
    for answer in _answers(request, context, names, free):
        done.append(answer)
        if len(done) % _AT_ONCE == 0:
            await (_moment(context) if late else asyncio.sleep(0))
    return response("CreateTopics", topics=done[:_AT_ONCE] if bugs.on("W15") else done)


async def _moment(context: Context) -> None:
    over = asyncio.Event()
    context.node.clock.call_later(0.001, over.set)
    await over.wait()


def _answers(
    request: Struct, context: Context, names: Counter[str], free: Container[str] = ()
) -> Iterator[dict[str, Any]]:
    make = not request.validate_only or bugs.on("M40k")
    for wanted in {topic.name: topic for topic in request.topics}.values():
        fault = _fault(wanted, context.node, twice=names[wanted.name] > 1)
        if fault is not None and fault.error == errors.TOPIC_ALREADY_EXISTS and wanted.name in free:
            fault = None
        if bugs.on("K01"):
            _keep_settings(wanted, fault)
        if names[wanted.name] > 1 and bugs.on("P64"):
            _create(wanted, context.node, make=make)
        yield _create(wanted, context.node, make=make) if fault is None else _refused(wanted.name, fault)


def _keep_settings(wanted: Struct, fault: WrongSetting | None) -> None:
    if fault is None:
        wanted.configs = wanted.configs or _LEFT.get(wanted.name, [])
    elif fault.error == errors.INVALID_REPLICATION_FACTOR:
        _LEFT[wanted.name] = wanted.configs


def _partitions_in_all(request: Struct, node: Broker) -> int:
    default = node.config["num.partitions"]
    asked = (default if one.num_partitions == -1 else max(one.num_partitions, 0) for one in request.topics)
    return sum(len(one.assignments) or count for one, count in zip(request.topics, asked, strict=True))


def _refused(name: str, fault: WrongSetting) -> dict[str, Any]:
    return {"name": name, "error_code": fault.error, "error_message": fault.message, "configs": []}


def _fault(wanted: Struct, node: Broker, *, twice: bool) -> WrongSetting | None:
    if twice:
        return WrongSetting(errors.INVALID_REQUEST, "Duplicate topic name.")
    if fault := name_fault(wanted.name):
        return fault
    if wanted.name == _METADATA_LOG and not bugs.on("K04"):
        return WrongSetting(
            errors.INVALID_REQUEST, f"The topic {_METADATA_LOG} is internal: it is not for clients to make."
        )
    if node.topics.get(wanted.name) is not None and not bugs.on("P08"):
        return WrongSetting(errors.TOPIC_ALREADY_EXISTS, f"Topic '{wanted.name}' already exists.")
    existing = {topic.name for topic in node.topics.all()}
    if bugs.on("K02"):
        _EVER.update(existing)
        existing = _EVER
    if not TopicRules.possible(node.config, {}):
        return WrongSetting(errors.INVALID_CONFIG, "Invalid value for a configuration of the brokers.")
    return (
        collision(wanted.name, existing)
        or config_fault({entry.name: entry.value for entry in wanted.configs})
        or _placement_fault(wanted, node)
    )


def _placement_fault(wanted: Struct, node: Broker) -> WrongSetting | None:
    if not wanted.assignments:
        return shape_fault(wanted.num_partitions, wanted.replication_factor, brokers=len(node.known_brokers()))
    for field, value in (("replication factor", wanted.replication_factor), ("partition count", wanted.num_partitions)):
        if value != -1:
            return WrongSetting(
                errors.INVALID_REQUEST,
                f"A manual partition assignment was specified, but {field} was not set to -1.",
            )
    by_index = {entry.partition_index: list(entry.broker_ids) for entry in wanted.assignments}
    if len(by_index) != len(wanted.assignments):
        return WrongSetting(
            errors.INVALID_REPLICA_ASSIGNMENT, "Found multiple manual partition assignments for one partition"
        )
    return assignment_fault(by_index, node.known_brokers(), node.live_brokers())


def _create(wanted: Struct, node: Broker, *, make: bool) -> dict[str, Any]:
    count = len(wanted.assignments) or wanted.num_partitions
    if count == -1:
        count = 3 if bugs.on("P07") else node.config["num.partitions"]
    configs = {entry.name: entry.value for entry in ([] if bugs.on("P06") else wanted.configs)}
    by_index = {entry.partition_index: list(entry.broker_ids) for entry in wanted.assignments}
    placed = [by_index[index] for index in sorted(by_index)] or node.spread(count, wanted.replication_factor)
    internal = wanted.name in (CONSUMER_OFFSETS, TRANSACTION_STATE)
    topic_id = node.create_topic(wanted.name, placed, configs, internal=internal).id if make else uuid.uuid4()
    made = TopicResource(node, TopicImage(wanted.name, topic_id, [], configs))
    in_force = {name: made.sources(setting)[0] for name, setting in TOPIC_SETTINGS.items()}
    return {
        "name": wanted.name,
        "topic_id": topic_id,
        "error_code": errors.NONE,
        "error_message": None,
        "num_partitions": wanted.num_partitions if bugs.on("A01") else count,
        "replication_factor": wanted.replication_factor if bugs.on("H23") else len(placed[0]),
        "configs": [
            {"name": name, "value": first.value, "config_source": first.source}
            for name, first in in_force.items()
            if make or not bugs.on("H22")
        ],
    }
