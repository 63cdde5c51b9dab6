"""What a case made and used, as its own requests show: the topics, groups and transactional ids to look at.

CreateTopics t1, DeleteTopics t1                         -> nothing is left to look at
OffsetCommit g1 t1-0 = 5, answered; then = 7, answered   -> g1, and 7 is what it must have
OffsetCommit g1 t1-0 = 7, never answered                 -> g1; 5 or 7, so neither is demanded
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from brokertrial.suites.probe.answer import PendingExchange

Place = tuple[str, int]
DISTURB_COMMITS = ("TxnOffsetCommit", "OffsetDelete", "DeleteGroups", "DeleteTopics")
"""APIs after which the last OffsetCommit alone does not say what is committed."""


class Subjects(msgspec.Struct):
    """By name; the order is that of the requests."""

    topics: list[str]
    groups: list[str]
    transactional_ids: list[str]
    acknowledged: dict[str, dict[Place, int]]
    """Group -> partition -> the offset that was committed last, where no other can be meant."""


def subjects(
    exchanges: Sequence[PendingExchange], topics: Iterable[str], groups: Iterable[str], ids: Mapping[str, Any]
) -> Subjects:
    """Of a case that sent these requests; `topics` and `groups` are those that it may have made; `ids`: topic -> id."""
    answered = [asked for asked in exchanges if asked.answer is not None]
    transactional = [getattr(asked.request, "transactional_id", None) for asked in answered]
    return Subjects(
        list(dict.fromkeys(topics)),
        list(dict.fromkeys(groups)),
        list(dict.fromkeys(one for one in transactional if one)),
        _acknowledged(exchanges, {topic_id: topic for topic, topic_id in ids.items()}),
    )


def _acknowledged(exchanges: Sequence[PendingExchange], names: Mapping[Any, str]) -> dict[str, dict[Place, int]]:
    found: dict[str, dict[Place, int]] = {}
    latest: dict[tuple[str, Place], PendingExchange] = {}
    unclear: set[tuple[str, Place]] = set()
    for asked in exchanges:
        if asked.request._api in DISTURB_COMMITS:
            return {}
        if asked.request._api != "OffsetCommit":
            continue
        for place, offset, error in _rows(asked, names):
            key = (asked.request.group_id, place)
            before = latest.get(key)
            overlaps = before is not None and not 0 < before.received_ns < asked.sent_ns
            if error is None or overlaps or getattr(asked.request, "retention_time_ms", -1) >= 0:
                unclear.add(key)
            elif error == 0:
                found.setdefault(key[0], {})[place] = offset
            latest[key] = asked
    for group, place in unclear:
        found.get(group, {}).pop(place, None)
    return found


def _rows(asked: PendingExchange, names: Mapping[Any, str]) -> Iterable[tuple[Place, int, int | None]]:
    """Each partition of a commit by its topic's name, with the error of its answer; None where it had none."""
    errors: dict[tuple[Any, int], int] = {}
    if asked.answer is not None:
        for row in asked.answer.topics:
            errors.update({(_key(row), part.partition_index): part.error_code for part in row.partitions})
    for row in asked.request.topics:
        for part in row.partitions:
            name = row.name or names.get(row.topic_id, "")
            yield (name, part.partition_index), part.committed_offset, errors.get((_key(row), part.partition_index))


def _key(row: Any) -> Any:
    return getattr(row, "name", "") or row.topic_id
