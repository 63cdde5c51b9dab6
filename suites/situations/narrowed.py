"""What an answer about everything says of what was asked: the rest is left out, and what is missing is said.

OffsetFetch of t-0, asked for all    t-0: 5, u-0: 7    ->    t-0: 5
                                     u-0: 7            ->    t-0: -1, as the form that names it would say
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, child

NOTHING = {"committed_offset": -1, "committed_leader_epoch": -1, "metadata": "", "error_code": 0}


def _offsets(asked: Struct, answer: Struct, version: int) -> None:
    """Partitions of which nothing is committed are not in an answer about all."""
    if version < 8 and asked.topics is None:
        return
    if version < 8:
        answer.topics = _rows(asked.topics, answer.topics, "topics")
        return
    wanted = {group.group_id: group.topics for group in asked.groups}
    for group in answer.groups:
        if group.error_code == 0 and wanted.get(group.group_id) is not None:
            group.topics = _rows(wanted[group.group_id], group.topics, "groups.topics")


def _rows(wanted: Iterable[Any], told: Iterable[Any], path: str) -> list[Any]:
    found = {(_key(topic), row.partition_index): row for topic in told for row in topic.partitions}
    topic_class = child("OffsetFetch", "response", path)
    row_class = topic_class._children["partitions"]
    rows = []
    for topic in wanted:
        parts = [
            found.get((_key(topic), index)) or row_class(partition_index=index, **NOTHING)
            for index in topic.partition_indexes
        ]
        named = {name: getattr(topic, name) for name in ("name", "topic_id") if name in topic_class._names}
        rows.append(topic_class(partitions=parts, **named))
    return rows


def _key(row: Any) -> Any:
    return getattr(row, "name", "") or row.topic_id


def _settings(asked: Struct, answer: Struct, version: int) -> None:
    wanted = {(row.resource_type, row.resource_name): row.configuration_keys for row in asked.resources}
    for row in answer.results:
        if (keys := wanted.get((row.resource_type, row.resource_name))) is not None:
            row.configs = [config for config in row.configs if config.name in keys]


def _topics(asked: Struct, answer: Struct, version: int) -> None:
    if asked.topics is None:
        return
    found = {key: row for row in answer.topics for key in (row.name, row.topic_id)}
    missing = child("Metadata", "response", "topics")
    answer.topics = [
        found.get(_key(row)) or missing(name=row.name, error_code=errors.UNKNOWN_TOPIC_OR_PARTITION)
        for row in asked.topics
    ]


NARROWED: Mapping[str, Callable[[Struct, Struct, int], None]] = {
    "OffsetFetch": _offsets,
    "DescribeConfigs": _settings,
    "Metadata": _topics,
}
"""By API: makes of an answer about everything one about what was asked."""
