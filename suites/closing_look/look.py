"""The closing look at everything that a case made: whole, once what is under way has come to rest.

Each subject is looked at by itself, again and again until all that is asked fits, for `SETTLES_S` at the most: what is
still false then is a failure. The Fetches also feed the search for harmed records (suites/probe/harm.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from brokertrial.suites.closing_look.group import GroupLook
from brokertrial.suites.closing_look.partition import PartitionLook
from brokertrial.suites.closing_look.subjects import Subjects, subjects
from brokertrial.suites.closing_look.transaction import TransactionLook
from brokertrial.suites.probe.wire import Wire

SETTLES_S = 10.0
MOST_PARTITIONS = 3
"""Of one topic; the first ones."""
MOST_SUBJECTS = 12
"""Of one kind."""
PRODUCERS = ("DescribeTransactions", "ListTransactions")
COMPACT = "compact"


def closing_look(wire: Wire) -> None:
    """Keeps what is false of each subject as a part of the case (`wire.part`)."""
    found = subjects(wire.traffic.exchanges or (), wire.made_topics, wire.made_groups, wire.topic_ids)
    for what, judge in _looks(wire, found):
        with wire.part(f"the closing look at {what}"):
            wire.eventually(judge, within=SETTLES_S)


def _looks(wire: Wire, found: Subjects) -> Iterator[tuple[str, Callable[[], None]]]:
    for topic in found.topics[:MOST_SUBJECTS]:
        wire.refresh_metadata(topic)
        for partition in sorted(wire.known_partitions(topic))[:MOST_PARTITIONS]:
            yield f"{topic}-{partition}", PartitionLook(wire, topic, partition, _is_compacted(wire, topic)).judge
    for group in found.groups[:MOST_SUBJECTS] if wire.versions("OffsetFetch") else ():
        yield f"group {group}", GroupLook(wire, group, found.acknowledged.get(group, {})).judge
    if all(map(wire.versions, PRODUCERS)):
        for transactional_id in found.transactional_ids[:MOST_SUBJECTS]:
            yield f"transactional id {transactional_id}", TransactionLook(wire, transactional_id).judge


def _is_compacted(wire: Wire, topic: str) -> bool:
    """Whether records may be missing between others."""
    if not wire.versions("DescribeConfigs"):
        return True
    return COMPACT in (wire.configs_of_topic(topic).get("cleanup.policy") or "")
