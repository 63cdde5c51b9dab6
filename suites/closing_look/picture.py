"""What everything that a case made looks like, to be compared when nodes were stopped, killed or moved in between.

Nobody asked for a change meanwhile, so nothing may be lost, altered or invented. What may change by itself:

    the start    rises by retention (cleanup.policy=delete) and falls never
    the end      rises by the marker of a transaction that timed out (transaction.timeout.ms)
    stable       rises with it
    members      go when their session is over (session.timeout.ms), with a new epoch or another state of the group
    batches      of a compacted topic are cleaned by and by; those of any other are, byte by byte, what they were

Settings, partitions, topic ids and committed offsets are what they were.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from brokertrial.suites.closing_look.group import GONE
from brokertrial.suites.closing_look.partition import MOST_RECORDS, VIA
from brokertrial.suites.closing_look.subjects import Place, subjects
from brokertrial.suites.probe.admin import TOPIC
from brokertrial.suites.probe.answer import Response
from brokertrial.suites.probe.coordinator_writes import make_coordinator_write
from brokertrial.suites.probe.fetch import COMMITTED
from brokertrial.suites.probe.list_offsets import Listed
from brokertrial.suites.probe.wire import Wire
from brokertrial.wire import errors
from brokertrial.wire.messages import request

MOST = 12
"""Subjects of one kind."""
COMPACT, CLASSIC = "compact", "classic"
ALTERED = (
    "AlterConfigs",
    "IncrementalAlterConfigs",
    "CreatePartitions",
    "DeleteTopics",
    "DeleteRecords",
    "AlterPartitionReassignments",
)
"""Requests that take effect by and by: after one of these a topic is not compared."""


class PartitionPicture(msgspec.Struct, frozen=True):
    """One partition's log."""

    start: int
    stable: int
    end: int
    batches: dict[int, tuple[int, int]]
    """First offset -> last offset and checksum; empty of a log that is compacted, or too long."""


class TopicPicture(msgspec.Struct, frozen=True):
    """One topic."""

    topic_id: str
    settings: dict[str, str | None]
    partitions: dict[int, PartitionPicture]


class GroupPicture(msgspec.Struct, frozen=True):
    """One group, as it is described."""

    protocol: str
    state: str
    epoch: int
    """Of a consumer group (KIP-848); -1 of a classic one."""
    members: frozenset[str]


@dataclass(frozen=True, slots=True)
class ClusterPicture:
    """By name; `answers` show each subject (`t`, `t-0`, `group g`)."""

    topics: dict[str, TopicPicture] = field(default_factory=dict)
    committed: dict[str, dict[Place, int]] = field(default_factory=dict)
    groups: dict[str, GroupPicture] = field(default_factory=dict)
    answers: dict[str, tuple[Response, ...]] = field(default_factory=dict)


def picture_of(wire: Wire) -> ClusterPicture:
    """Of all that the case has made and that is still there."""
    exchanges = wire.traffic.exchanges or ()
    found = subjects(exchanges, wire.made_topics, wire.made_groups, wire.topic_ids)
    altered = any(asked.request._api in ALTERED for asked in exchanges)
    made = ClusterPicture()
    for topic in found.topics[:MOST] if not altered else ():
        wire.refresh_metadata(topic)
        if wire.known_partitions(topic):
            made.topics[topic] = _topic(wire, topic, made)
    for group in found.groups[:MOST] if wire.versions("OffsetFetch") and not altered else ():
        made.committed[group] = _committed(wire, group, made)
        if (described := _described(wire, group, made)) is not None:
            made.groups[group] = described
    return made


def changes(before: ClusterPicture, after: ClusterPicture) -> Iterator[tuple[str, str]]:
    """What has changed and may not: the subject, and a sentence."""
    for topic, was in before.topics.items():
        if (now := after.topics.get(topic)) is None:
            yield topic, "the topic is gone"
            continue
        if was.topic_id != now.topic_id:
            yield topic, f"its id was {was.topic_id} and is {now.topic_id}"
        for name in sorted(was.settings.keys() | now.settings.keys()):
            if was.settings.get(name) != now.settings.get(name):
                yield topic, f"its setting {name} was {was.settings.get(name)} and is {now.settings.get(name)}"
        if len(was.partitions) != len(now.partitions):
            yield topic, f"it had {len(was.partitions)} partitions and has {len(now.partitions)}"
        for index in sorted(was.partitions.keys() & now.partitions.keys()):
            for sentence in partition_changes(was.partitions[index], now.partitions[index]):
                yield f"{topic}-{index}", sentence
    for group, offsets in before.committed.items():
        for place, offset in offsets.items():
            found = after.committed.get(group, {}).get(place, -1)
            if found != offset:
                yield f"group {group}", f"its offset of {place[0]}-{place[1]} was {offset} and is {found}"
    for group, described in before.groups.items():
        for sentence in group_changes(described, after.groups.get(group)):
            yield f"group {group}", sentence


def group_changes(was: GroupPicture, now: GroupPicture | None) -> Iterator[str]:
    """The same of one group: members whose session is over are gone, which a new epoch or another state shows."""
    if now is None and was.protocol == CLASSIC and not was.members:
        return  # nothing was written of it yet: its offsets are compared by themselves
    if now is None or now.protocol != was.protocol:
        yield f"it was {was.state}, and is not known any more"
    elif now.epoch < was.epoch:
        yield f"its epoch was {was.epoch} and is {now.epoch}"
    elif (now.epoch, now.state) == (was.epoch, was.state) and now.members != was.members:
        yield f"its members were {sorted(was.members)} and are {sorted(now.members)}"


def partition_changes(was: PartitionPicture, now: PartitionPicture) -> Iterator[str]:
    """The same of one partition."""
    for name in ("start", "stable", "end"):
        if getattr(now, name) < getattr(was, name):
            yield f"its {name} was {getattr(was, name)} and is {getattr(now, name)}"
    for first, (last, crc) in was.batches.items():
        if last < now.start:
            continue
        if first not in now.batches:
            yield f"the batch at offset {first} is gone"
        elif now.batches[first] != (last, crc):
            yield f"the batch at offset {first} is another"


def must_be_as_before(wire: Wire, before: ClusterPicture, what: str) -> None:
    """Keeps what has changed while `what` was done, as parts of the case."""
    told: dict[str, list[str]] = {}
    after = picture_of(wire)
    for subject, sentence in changes(before, after):
        told.setdefault(subject, []).append(sentence)
    for subject, sentences in told.items():
        with wire.part(subject):
            answers = (*before.answers.get(subject, ()), *after.answers.get(subject, ()))
            wire.must(False, f"after {what}: {'; '.join(sentences)}", *answers)


def _topic(wire: Wire, topic: str, made: ClusterPicture) -> TopicPicture:
    settings: dict[str, str | None] = {}
    if wire.versions("DescribeConfigs"):
        answer = wire.describe_configs(TOPIC, topic).must_succeed()
        settings = {row.name: row.value for row in answer.struct.results[0].configs}
        made.answers[topic] = (answer,)
    compacted = COMPACT in (settings.get("cleanup.policy") or COMPACT)
    partitions = {
        index: _partition(wire, topic, index, compacted, made) for index in sorted(wire.known_partitions(topic))
    }
    return TopicPicture(str(wire.topic_id(topic)), settings, partitions)


def _partition(wire: Wire, topic: str, index: int, compacted: bool, made: ClusterPicture) -> PartitionPicture:
    def end(**how: Any) -> Listed:
        return wire.list_offsets(topic, index, via=VIA, **how).must_succeed()

    start, stable, last = end(at="earliest"), end(isolation=COMMITTED), end()
    made.answers[f"{topic}-{index}"] = (start, stable, last)
    batches = {}
    if not compacted and last.offset - start.offset <= MOST_RECORDS:
        log = wire.read_all(topic, index, via=VIA)
        made.answers[f"{topic}-{index}"] += tuple(log.answers[-1:])
        for batch in log.batches:
            batches[batch.header.base_offset] = (batch.header.last_offset, batch.header.crc)
    return PartitionPicture(start.offset, stable.offset, last.offset, batches)


def _committed(wire: Wire, group: str, made: ClusterPicture) -> dict[Place, int]:
    make_coordinator_write(wire, group)
    answer = wire.committed_all(group, via=VIA)
    made.answers[f"group {group}"] = (answer,)
    if answer.error in (errors.GROUP_ID_NOT_FOUND, errors.INVALID_GROUP_ID):
        return {}
    names = {str(topic_id): topic for topic, topic_id in wire.topic_ids.items()}
    return {(names.get(str(topic), str(topic)), index): at for (topic, index), at in answer.offsets.items()}


def _described(wire: Wire, group: str, made: ClusterPicture) -> GroupPicture | None:
    """A group of either protocol; None where there is none."""
    if wire.versions("ConsumerGroupDescribe"):
        answer = wire.ask(
            request("ConsumerGroupDescribe", group_ids=[group]), to=lambda: wire.coordinator(group), via=VIA
        )
        row = answer.struct.groups[0]
        if not answer.error:
            made.answers[f"group {group}"] += (answer,)
            return GroupPicture(
                "consumer", row.group_state, row.group_epoch, frozenset(one.member_id for one in row.members)
            )
    if not wire.versions("DescribeGroups"):
        return None
    described = wire.describe_group(group, via=VIA)
    found = described.struct.groups[0]
    if described.error or found.group_state in GONE:
        return None
    made.answers[f"group {group}"] += (described,)
    return GroupPicture(CLASSIC, found.group_state, -1, frozenset(one.member_id for one in found.members))
