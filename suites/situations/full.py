"""The client fills what it may fill, as clients in use do: leader epochs, a rack, reasons, timeouts, filters.

    draw 1    what the Java client fills: leader epochs, a rack, reasons, stable offsets, every "include", and the
              longest timeout where a producer has no transactional id
    draw 2    the same by a client of the future: each struct has fields that the broker does not know, and each Fetch
              begins a session, as the first one of a consumer does
    draw 3    the same by a careful one: filters name all there is, a commit has a metadata string, and a heartbeat of
              a consumer group says everything each time

Every value is true, or what the broker would take for granted: the answers mean what they mean without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any

from brokertrial.suites.probe.answer import PendingExchange
from brokertrial.suites.probe.fitting import fitted
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.situations.acting import ActingSituation
from brokertrial.suites.situations.moments import ROUTING
from brokertrial.wire.apis import by_name
from brokertrial.wire.messages import Struct

FUTURE, CAREFUL = 2, 3
RACK = "rack-a"
REASON = "the application is being closed"
METADATA = "written at 12:00 by consumer-1"
LONGEST_MS = 0x7FFFFFFF
NO_EPOCH = -1
UNKNOWN_TAGS = ((1_000, b"of a later release"), (70_000, b""))
GROUP_STATES = ("PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty", "Assigning", "Reconciling")
GROUP_TYPES = ("classic", "consumer", "share")
TRANSACTION_STATES = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "PrepareEpochFence",
)
LASTING: Mapping[str, Any] = {
    "rebalance_timeout_ms": -1,
    "subscribed_topic_names": None,
    "server_assignor": None,
    "topic_partitions": None,
}
"""Fields of a heartbeat of a consumer group, and what they are where nothing has changed."""
SIMPLE: Mapping[str, Mapping[str, Any]] = {
    "OffsetFetch": {"require_stable": True},
    "JoinGroup": {"reason": REASON},
    "DescribeGroups": {"include_authorized_operations": True},
    "ConsumerGroupDescribe": {"include_authorized_operations": True},
    "Metadata": {"include_cluster_authorized_operations": True, "include_topic_authorized_operations": True},
    "DescribeCluster": {"include_cluster_authorized_operations": True},
    "DescribeConfigs": {"include_synonyms": True, "include_documentation": True},
}


class Full(ActingSituation):
    """It fills what the case left at its default, in the version that the case asks in."""

    def __init__(self, wire: Wire, number: int, rng: Random, disturb: Callable[[str], str]) -> None:
        super().__init__(wire, number, rng, disturb)
        self._said: dict[tuple[str, str], dict[str, Any]] = {}
        self._filled: dict[tuple[str, str, int], dict[str, tuple[Any, Any]]] = {}
        """Group, topic, partition -> field of OffsetFetch -> what was put there, and what the case meant."""
        self._fillers: Mapping[str, Callable[[Struct, int], None]] = {
            "Fetch": self._fetch,
            "ListOffsets": self._epochs,
            "OffsetForLeaderEpoch": self._epochs,
            "OffsetCommit": self._commit,
            "TxnOffsetCommit": self._commit,
            "LeaveGroup": self._leave,
            "InitProducerId": self._init_producer_id,
            "ListGroups": self._list_groups,
            "ListTransactions": self._list_transactions,
            "ConsumerGroupHeartbeat": self._heartbeat,
        }

    def worded(self, meant: Struct, version: int) -> Struct:
        sent = fitted(meant, version)
        _fill(sent, version, **SIMPLE.get(meant._api, {}))
        if (filler := self._fillers.get(meant._api)) is not None:
            filler(sent, version)
        if self.number == FUTURE and by_name(meant._api).flexible(version):
            _tag(sent, version)
        if sent == meant and meant._api != "OffsetFetch":
            return meant
        self.effects += meant._api not in ROUTING
        return sent

    def understood(self, asked: PendingExchange) -> None:
        """What was filled into a commit and comes back as it was is to the case what it committed itself."""
        if asked.request._api != "OffsetFetch" or asked.answer is None:
            return
        groups = asked.answer.groups if asked.version >= 8 else [asked.answer]
        for group in groups:
            for topic, row in self._partitions(group):
                key = (getattr(group, "group_id", asked.request.group_id), topic, row.partition_index)
                filled = self._filled.get(key, {})
                for name, (value, meant) in filled.items():
                    if getattr(row, name) == value:
                        setattr(row, name, meant)

    def _fetch(self, asked: Struct, version: int) -> None:
        _fill(asked, version, rack_id=RACK)
        self._epochs(asked, version)
        if self.number == FUTURE and not getattr(asked, "session_id", 0):
            _fill(asked, version, session_epoch=0)

    def _epochs(self, asked: Struct, version: int) -> None:
        """The leader epoch that the client knows: KIP-320."""
        for topic, row in self._partitions(asked):
            partition = getattr(row, "partition_index", getattr(row, "partition", 0))
            _fill(row, version, current_leader_epoch=self.wire.known_epoch(topic, partition))

    def _commit(self, asked: Struct, version: int) -> None:
        for topic, row in self._partitions(asked):
            filled: dict[str, tuple[Any, Any]] = {}
            self._filled[asked.group_id, topic, row.partition_index] = filled
            epoch = self.wire.known_epoch(topic, row.partition_index)
            if row.committed_leader_epoch == NO_EPOCH:
                _fill(row, version, committed_leader_epoch=epoch)
                filled["committed_leader_epoch"] = (epoch, NO_EPOCH)
            if self.number == CAREFUL and not row.committed_metadata:
                row.committed_metadata = METADATA
                filled["metadata"] = (METADATA, "")

    def _partitions(self, asked: Struct) -> Iterator[tuple[str, Struct]]:
        by_id = {topic_id: topic for topic, topic_id in self.wire.topic_ids.items()}
        for row in asked.topics:
            name = getattr(row, "topic", "") or getattr(row, "name", "") or by_id.get(row.topic_id, "")
            yield from ((name, part) for part in row.partitions)

    def _leave(self, asked: Struct, version: int) -> None:
        for row in asked.members:
            _fill(row, version, reason=REASON)

    def _init_producer_id(self, asked: Struct, version: int) -> None:
        """Clients send the longest timeout where there is no transaction that could run into it."""
        if asked.transactional_id is None:
            asked.transaction_timeout_ms = LONGEST_MS

    def _list_groups(self, asked: Struct, version: int) -> None:
        if self.number == CAREFUL:
            _fill(asked, version, states_filter=list(GROUP_STATES), types_filter=list(GROUP_TYPES))

    def _list_transactions(self, asked: Struct, version: int) -> None:
        if self.number == CAREFUL:
            _fill(asked, version, state_filters=list(TRANSACTION_STATES), duration_filter=0)

    def _heartbeat(self, asked: Struct, version: int) -> None:
        said = self._said.setdefault((asked.group_id, asked.member_id), {})
        if asked.member_epoch == 0:
            said.clear()
            _fill(asked, version, rack_id=RACK)
        elif self.number == CAREFUL and asked.member_epoch > 0:
            _fill(asked, version, **said)
        said.update({name: getattr(asked, name) for name, same in LASTING.items() if getattr(asked, name) != same})


def _fill(struct: Struct, version: int, **values: Any) -> None:
    """Sets fields that this version has and the case left at their default."""
    plain = type(struct)()
    for field in struct._fields:
        is_free = field.name in values and version in field.versions
        if is_free and getattr(struct, field.name) in (getattr(plain, field.name), ""):
            setattr(struct, field.name, values[field.name])


def _tag(struct: Struct, version: int) -> None:
    """Gives a struct, and all inside that are sent, fields that no release has."""
    struct._unknown_tags = UNKNOWN_TAGS
    for field in struct._fields:
        value = getattr(struct, field.name)
        if version in field.versions and field.tag is None:
            for inner in value if isinstance(value, list) else (value,):
                if isinstance(inner, Struct):
                    _tag(inner, version)


SITUATION = Full
