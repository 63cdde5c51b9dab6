"""Waits until what one request changed is visible, for a broker may answer before it shows everywhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic, sleep

from brokertrial.suites.explore.normalise import OWN_SETTING
from brokertrial.suites.explore.peer import Peer
from brokertrial.suites.explore.step import Visible
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct

WITHIN_S = 10.0
LATEST = -1
TOPIC_RESOURCE, APPEND, SUBTRACT = 2, 2, 3
SCRATCH, SCRATCH_MS = "file.delete.delay.ms", 60_000


def becomes_visible(peer: Peer, what: Visible, within_s: float = WITHIN_S) -> bool:
    """Returns True once the broker shows it, False where it does not in time."""
    look = LOOKS[what.kind]
    if not peer.offers(*look.apis):
        return True
    deadline = monotonic() + within_s
    while not look.seen(peer, what):
        if monotonic() > deadline:
            return False
        sleep(0.005)  # paced polling up to the deadline above
    return True


def _topic(peer: Peer, what: Visible) -> bool:
    """A topic with so many partitions that all serve."""
    answer = peer.ask("Metadata", 8, topics=[{"name": what.name}], allow_auto_topic_creation=False)
    (topic,) = answer.topics
    if topic.error_code or len(topic.partitions) != what.value or any(p.leader_id < 0 for p in topic.partitions):
        return False
    asked = [{"partition_index": n, "timestamp": LATEST} for n in range(what.value)]
    ends = peer.ask("ListOffsets", 5, replica_id=-1, topics=[{"name": what.name, "partitions": asked}])
    return not any(p.error_code for p in ends.topics[0].partitions)


def _gone(peer: Peer, what: Visible) -> bool:
    answer = peer.ask("Metadata", 8, topics=[{"name": what.name}], allow_auto_topic_creation=False)
    return bool(answer.topics[0].error_code == errors.UNKNOWN_TOPIC_OR_PARTITION)


def _setting(peer: Peer, what: Visible) -> bool:
    """A topic's setting: a value, or None for its default; of a list, what was added or taken away."""
    key, operation, value = what.value
    own = _own(peer, what.name, key)
    if operation == APPEND:
        return own is not None and value in own.split(",")
    if operation == SUBTRACT:
        return own is None or value not in own.split(",")
    return bool(own == value)


def _applied(peer: Peer, what: Visible) -> bool:
    """Whatever was changed before holds: a later change of the metadata, made here, is visible.

    Kafka shows a setting a moment before its logs obey it, and takes up one change after the other.
    """
    value = str(SCRATCH_MS + what.value)
    if _own(peer, what.name, SCRATCH) != value:
        change = {"name": SCRATCH, "config_operation": 0, "value": value}
        resources = [{"resource_type": TOPIC_RESOURCE, "resource_name": what.name, "configs": [change]}]
        peer.ask("IncrementalAlterConfigs", 1, resources=resources)
    return _own(peer, what.name, SCRATCH) == value


def _own(peer: Peer, topic: str, key: str) -> str | None:
    """A setting of the topic's own; None where it has the default."""
    resources = [{"resource_type": TOPIC_RESOURCE, "resource_name": topic, "configuration_keys": [key]}]
    found = peer.ask("DescribeConfigs", 1, resources=resources).results[0].configs
    return next((str(each.value) for each in found if each.config_source == OWN_SETTING), None)


def _ended(peer: Peer, what: Visible) -> bool:
    """A transaction whose markers are written."""
    (found,) = peer.ask("DescribeTransactions", 0, transactional_ids=[what.name]).transaction_states
    return not found.transaction_state.startswith(("Prepare", "Ongoing"))


def _empty(peer: Peer, what: Visible) -> bool:
    """A classic group without members."""
    (found,) = peer.ask("DescribeGroups", 0, groups=[what.name]).groups
    return not found.members


def _forgotten(peer: Peer, what: Visible) -> bool:
    """A topic that is gone, and of which no group owns or has committed anything: Kafka tells its coordinators last."""
    asked = [{"group_id": group, "topics": None} for group in what.value]
    owned = set()
    if peer.offers("ConsumerGroupDescribe"):
        (group,) = peer.ask("ConsumerGroupDescribe", 0, group_ids=[what.value[0]]).groups
        owned = {topic.topic_name for member in group.members for topic in member.assignment.topic_partitions}
    groups = peer.ask("OffsetFetch", 8, groups=asked, require_stable=False).groups
    return what.name not in owned | {topic.name for group in groups for topic in group.topics}


def _consumers(peer: Peer, what: Visible) -> bool:
    """A KIP-848 group whose members have, together, every partition that they want, and nothing left to give back."""
    members, wanted = what.value
    for member, instance in members:
        peer.heartbeat(what.name, member, instance)
    (group,) = peer.ask("ConsumerGroupDescribe", 0, group_ids=[what.name]).groups
    owned = [_parts(member.assignment) for member in group.members]
    return (
        len(group.members) == len(members)
        and group.assignment_epoch == group.group_epoch
        and all(member.member_epoch == group.group_epoch for member in group.members)
        and owned == [_parts(member.target_assignment) for member in group.members]
        and sum(map(len, owned)) == wanted
    )


def _sharers(peer: Peer, what: Visible) -> bool:
    """A share group whose members have, together, every partition that they want."""
    members, wanted = what.value
    shared: set[tuple[object, int]] = set()
    epochs = set()
    for member in members:
        answer = peer.share_heartbeat(what.name, member)
        shared |= {
            (each["topic_id"], index) for each in peer.members.owned(what.name, member) for index in each["partitions"]
        }
        epochs.add(answer.member_epoch)
    (group,) = peer.ask("ShareGroupDescribe", 1, group_ids=[what.name]).groups
    if not members:  # then Kafka 4.3 assigns nothing any more
        return not list(group.members)
    return (
        len(group.members) == len(members)
        and group.assignment_epoch == group.group_epoch
        and epochs == {group.group_epoch}
        and len(shared) == wanted
    )


def _streamers(peer: Peer, what: Visible) -> bool:
    """A streams group whose members have, together, every task that there is, and nothing left to give back."""
    members, wanted = what.value
    for member in members:
        peer.streams_heartbeat(what.name, member)
    (group,) = peer.ask("StreamsGroupDescribe", 0, group_ids=[what.name]).groups
    if not members:
        return not list(group.members)
    owned = [_tasks(member.assignment) for member in group.members]
    return bool(
        len(group.members) == len(members)
        and group.assignment_epoch == group.group_epoch
        and all(member.member_epoch == group.group_epoch for member in group.members)
        and owned == [_tasks(member.target_assignment) for member in group.members]
        and sum(map(len, owned)) == wanted
    )


def _tasks(assignment: Struct) -> set[tuple[str, int]]:
    return {(task.subtopology_id, index) for task in assignment.active_tasks for index in task.partitions}


def _quotas(peer: Peer, what: Visible) -> bool:
    """An entity that has these quotas and no others."""
    entity, values = what.value
    components = [{"entity_type": kind, "match_type": 0, "match": name} for kind, name in entity]
    answer = peer.ask("DescribeClientQuotas", 1, components=components, strict=True)
    found: dict[str, float] = {each.key: each.value for entry in answer.entries or () for each in entry.values}
    return found == dict(values)


def _credentials(peer: Peer, what: Visible) -> bool:
    """A user that has these mechanisms, with so many iterations each, and no others."""
    (found,) = peer.ask("DescribeUserScramCredentials", 0, users=[{"name": what.name}]).results
    shown: dict[int, int] = {each.mechanism: each.iterations for each in found.credential_infos}
    return shown == dict(what.value)


def _parts(assignment: Struct) -> set[tuple[object, int]]:
    return {(topic.topic_id, index) for topic in assignment.topic_partitions for index in topic.partitions}


@dataclass(frozen=True, slots=True)
class VisibilityLook:
    """Whether something can be seen, and the APIs that it takes to see it."""

    seen: Callable[[Peer, Visible], bool]
    apis: tuple[str, ...]


LOOKS: dict[str, VisibilityLook] = {
    "topic": VisibilityLook(_topic, ("Metadata", "ListOffsets")),
    "gone": VisibilityLook(_gone, ("Metadata",)),
    "setting": VisibilityLook(_setting, ("DescribeConfigs",)),
    "applied": VisibilityLook(_applied, ("DescribeConfigs", "IncrementalAlterConfigs")),
    "ended": VisibilityLook(_ended, ("DescribeTransactions",)),
    "empty": VisibilityLook(_empty, ("DescribeGroups",)),
    "forgotten": VisibilityLook(_forgotten, ("OffsetFetch",)),
    "sharers": VisibilityLook(_sharers, ("ShareGroupHeartbeat", "ShareGroupDescribe")),
    "streamers": VisibilityLook(_streamers, ("StreamsGroupHeartbeat", "StreamsGroupDescribe")),
    "quotas": VisibilityLook(_quotas, ("DescribeClientQuotas",)),
    "credentials": VisibilityLook(_credentials, ("DescribeUserScramCredentials",)),
    "consumers": VisibilityLook(_consumers, ("ConsumerGroupHeartbeat", "ConsumerGroupDescribe")),
}
