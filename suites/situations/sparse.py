"""The client says no more than it must: the short forms that the protocol guide gives a meaning.

draw 1    null is all: committed offsets, settings, topics; of the answer the case is told what it asked for
draw 2    topics are named by their ids alone, and the client gives itself no name
draw 3    what has not changed since the last heartbeat of a consumer group is null, a commit's metadata too, and
          a new topic leaves to the broker what would be its default anyway
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from brokertrial.suites.probe.answer import PendingExchange
from brokertrial.suites.probe.fitting import fitted
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.situations.acting import ActingSituation
from brokertrial.suites.situations.full import LASTING
from brokertrial.suites.situations.narrowed import NARROWED
from brokertrial.wire.messages import Struct

ALL, BY_ID, UNCHANGED = 1, 2, 3
METADATA_BY_ID, METADATA_ALL, DELETE_BY_ID, BROKER_DEFAULTS = 12, 1, 6, 4
"""The first versions with these forms (KIP-516; KIP-464)."""
DEFAULT = -1


class Sparse(ActingSituation):
    """It leaves out what the case says in full, where both mean the same."""

    def __init__(self, wire: Wire, number: int, rng: Random, disturb: Callable[[str], str]) -> None:
        super().__init__(wire, number, rng, disturb)
        self._said: dict[tuple[str, str], dict[str, Any]] = {}
        self._epochs: dict[tuple[str, str], int] = {}
        """Member -> the epoch that it was told last: one that is behind says everything again (KIP-848)."""
        self._defaults: dict[str, str | None] = {}
        self._forms: Mapping[str, Callable[[Struct, int], object]] = {
            ALL: {"OffsetFetch": self._all_offsets, "DescribeConfigs": _all_settings, "Metadata": self._all_topics},
            BY_ID: {"Metadata": self._topics_by_id, "DeleteTopics": self._deleted_by_id},
            UNCHANGED: {
                "ConsumerGroupHeartbeat": self._heartbeat,
                "OffsetCommit": _null_metadata,
                "TxnOffsetCommit": _null_metadata,
                "CreateTopics": self._new_topics,
            },
        }[number]

    def client_name(self, usual: str) -> str | None:
        if self.number != BY_ID:
            return usual
        self.effects += 1
        return None

    def worded(self, meant: Struct, version: int) -> Struct:
        if (form := self._forms.get(meant._api)) is None:
            return meant
        sent = fitted(meant, version)
        form(sent, version)
        self.effects += sent != meant
        return sent

    def understood(self, asked: PendingExchange) -> None:
        if asked.answer is None:
            return
        if self.number == ALL:
            NARROWED[asked.request._api](asked.request, asked.answer, asked.version)
        elif asked.request._api == "ConsumerGroupHeartbeat":
            key = (asked.request.group_id, asked.request.member_id)
            self._epochs[key] = -1 if asked.answer.error_code else asked.answer.member_epoch

    def topic_settings(self, configs: Mapping[str, str]) -> Mapping[str, str]:
        """Learns what the broker takes for granted, before the first topic is made."""
        if self.number == UNCHANGED and not self._defaults:
            for name in ("num.partitions", "default.replication.factor"):
                self._defaults[name] = self.wire.setting(name)
        return configs

    # null is all

    def _all_offsets(self, asked: Struct, version: int) -> None:
        if version >= 8:
            for group in asked.groups:
                if self._are_known(group.topics or ()):
                    group.topics = None
        elif version >= 2 and self._are_known(asked.topics or ()):
            asked.topics = None

    def _all_topics(self, asked: Struct, version: int) -> None:
        if version >= METADATA_ALL and asked.topics and self._are_known(asked.topics):
            asked.topics = None

    def _are_known(self, rows: Any) -> bool:
        """Whether these topics are there, as far as known: of others an answer to all says nothing."""
        ids, names = set(self.wire.topic_ids.values()), set(self.wire.known_topics)
        return all(getattr(row, "topic_id", None) in ids or getattr(row, "name", None) in names for row in rows)

    # by id alone

    def _topics_by_id(self, asked: Struct, version: int) -> None:
        if version >= METADATA_BY_ID:
            self._name_by_id(asked.topics or ())

    def _deleted_by_id(self, asked: Struct, version: int) -> None:
        if version >= DELETE_BY_ID:
            self._name_by_id(asked.topics)

    def _name_by_id(self, rows: Any) -> None:
        """All or none: a request may not name some topics in one way and some in the other."""
        ids = self.wire.topic_ids
        if all(row.name in ids for row in rows):
            for row in rows:
                row.name, row.topic_id = None, ids[row.name]

    # what goes without saying

    def _heartbeat(self, asked: Struct, version: int) -> None:
        key = (asked.group_id, asked.member_id)
        said = self._said.setdefault(key, {})
        if asked.member_epoch <= 0 or asked.member_epoch != self._epochs.get(key):
            said.clear()
        for name, same in LASTING.items():
            value = getattr(asked, name)
            if value != same and said.get(name, same) == value:
                setattr(asked, name, same)
            elif value != same:
                said[name] = value

    def _new_topics(self, asked: Struct, version: int) -> None:
        for row in asked.topics if version >= BROKER_DEFAULTS else ():
            if row.assignments:
                continue
            if str(row.num_partitions) == self._defaults.get("num.partitions"):
                row.num_partitions = DEFAULT
            if str(row.replication_factor) == self._defaults.get("default.replication.factor"):
                row.replication_factor = DEFAULT


def _all_settings(asked: Struct, version: int) -> None:
    for row in asked.resources:
        row.configuration_keys = None


def _null_metadata(asked: Struct, version: int) -> None:
    for topic in asked.topics:
        for row in topic.partitions:
            row.committed_metadata = row.committed_metadata or None


SITUATION = Sparse
