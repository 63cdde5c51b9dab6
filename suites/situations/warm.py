"""Before a request that changes something, what it names is described, by a client that stays: caches are filled with
what is about to become stale.

draw 1    before each change
draw 2    before each change, and after it: before the next request
draw 3    before each change, by every node

A fetch session (KIP-227) is opened on each partition as it is met, and asked at the end for what has come since.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

from brokertrial.suites.probe.admin import TOPIC
from brokertrial.suites.probe.coordinated import GROUP, TRANSACTION
from brokertrial.suites.probe.failures import StatementFalse
from brokertrial.suites.probe.fetch import COMMITTED, UNCOMMITTED
from brokertrial.suites.probe.list_offsets import OffsetTime
from brokertrial.suites.probe.traffic import LOOKS
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.situations.acting import ActingSituation
from brokertrial.suites.situations.standing_fetch import StandingFetch
from brokertrial.wire.messages import Struct, request

VIA = "warm"
MOST_TIMES = 4
"""Changes of one kind (one API) before which it looks."""
MOST_TOPICS, MOST_PARTITIONS = 3, 3
TWICE, EVERY_NODE = 2, 3
ENDS: Sequence[tuple[OffsetTime, str]] = (
    ("earliest", UNCOMMITTED),
    ("latest", UNCOMMITTED),
    ("latest", COMMITTED),
    (0, UNCOMMITTED),
)
NAMES_OF_GROUPS = ("group_id", "groups_names")
NAMES_OF_TRANSACTIONS = ("transactional_id", "v3_and_below_transactional_id")


class Warm(ActingSituation):
    """What a broker has told of something binds it to nothing: the answers are the same as if nobody had asked."""

    def __init__(self, wire: Wire, number: int, rng: Random, disturb: Callable[[str], str]) -> None:
        super().__init__(wire, number, rng, disturb)
        self._times: Counter[str] = Counter()
        self._changed: Struct | None = None
        self._standing: dict[tuple[str, int], StandingFetch] = {}

    def act_before(self, asked: Struct) -> None:
        if self.wire.awaits_answers or self.wire.traffic.raw:
            return
        if self._changed is not None and self.number == TWICE:
            self._look(self._changed)
        self._changed = None
        if not asked._api.startswith(LOOKS) and self._times[asked._api] < MOST_TIMES:
            self._times[asked._api] += 1
            self._changed = asked
            self._look(asked)
            self.effects += 1

    def at_the_end(self) -> None:
        with self.suspended():
            for (topic, partition), standing in self._standing.items():
                with self.wire.part(f"the fetch session on {topic}-{partition}"):
                    standing.must_be_told()

    def _look(self, asked: Struct) -> None:
        """Asks for everything that describes what a request names; what is answered is not judged here."""
        wire = self.wire
        topics = list(dict.fromkeys([*topics_of(asked, wire.topic_ids), *wire.known_topics[-MOST_TOPICS:]]))
        for topic in topics[:MOST_TOPICS]:
            self._look_at_topic(topic)
        keys = [*((GROUP, key) for key in names_in(asked, NAMES_OF_GROUPS)), *wire.known_coordinators]
        keys += [(TRANSACTION, key) for key in names_in(asked, NAMES_OF_TRANSACTIONS)]
        for kind, key in dict.fromkeys(keys):
            self._look_at(kind, key)

    def _look_at_topic(self, topic: str) -> None:
        wire = self.wire
        for node in wire.nodes if self.number == EVERY_NODE else wire.nodes[:1]:
            self._ask(request("Metadata", topics=[{"name": topic}], allow_auto_topic_creation=False), node)
        resource = {"resource_type": TOPIC, "resource_name": topic, "configuration_keys": None}
        self._ask(request("DescribeConfigs", resources=[resource]), wire.nodes[0])
        if topic in wire.known_topics:
            for partition in sorted(wire.known_partitions(topic))[:MOST_PARTITIONS]:
                self._look_at_partition(topic, partition)

    def _look_at_partition(self, topic: str, partition: int) -> None:
        wire = self.wire
        for at, isolation in ENDS:
            _ = wire.list_offsets(topic, partition, at=at, isolation=isolation, via=VIA, retry=False).error
        leader = wire.leader(topic, partition)
        self._ask(request("DescribeProducers", topics=[{"name": topic, "partition_indexes": [partition]}]), leader)
        if (topic, partition) not in self._standing:
            self._standing[topic, partition] = StandingFetch(wire, topic, partition)

    def _look_at(self, kind: int, key: str) -> None:
        try:
            node = self.wire.coordinator(key, kind)
        except StatementFalse:  # what no coordinator may have, as the case may be about to show
            return
        if kind == TRANSACTION:
            self._ask(request("DescribeTransactions", transactional_ids=[key]), node)
            self._ask(request("ListTransactions"), node)
            return
        _ = self.wire.committed_all(key, via=VIA, retry=False).error
        self._ask(request("DescribeGroups", groups=[key]), node)
        self._ask(request("ConsumerGroupDescribe", group_ids=[key]), node)
        self._ask(request("ListGroups"), node)

    def _ask(self, asked: Struct, node: int) -> None:
        if self.wire.versions(asked._api):
            _ = self.wire.ask(asked, to=node, via=VIA).error


def topics_of(asked: Struct, ids: Mapping[str, Any]) -> Iterable[str]:
    """The topics that a request names; `ids`: topic -> id."""
    by_id = {topic_id: topic for topic, topic_id in ids.items()}
    rows = [row for field in ("topics", "topic_data") for row in getattr(asked, field, None) or ()]
    for row in rows:
        name = getattr(row, "name", None) or by_id.get(getattr(row, "topic_id", None))
        if isinstance(name, str):
            yield name
    for row in getattr(asked, "resources", None) or ():
        if row.resource_type == TOPIC:
            yield row.resource_name


def names_in(asked: Struct, fields: Iterable[str]) -> Iterator[str]:
    """The names in these fields, each of which holds one or a list."""
    for field in fields:
        found = getattr(asked, field, None) or ()
        yield from (found,) if isinstance(found, str) else found


SITUATION = Warm
