"""Whether an answer has one row for each thing that was asked for: what is asked once is answered, and once.

    OffsetFetch of t-0, t-1  ->  t-0: 5, t-1: 7, t-1: 7      t-1 is answered twice
    OffsetFetch of t-0, t-1  ->  t-0: 5                      t-1 is not answered

A thing is what the names and numbers in its row and in the rows around it say: the partition 0 of topic t, a setting of
a resource, a member of a group. Where the request itself names something twice, or a situation has put it otherwise,
the answer proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from brokertrial.suites.probe.answer import PendingExchange
from brokertrial.suites.probe.failures import StatementFalse
from brokertrial.wire.structs import ZERO_UUID, Struct

NAMES = frozenset(
    {
        *("name", "topic", "topic_name", "topic_id", "index", "partition", "partition_index", "partition_id"),
        *("group_id", "group", "member_id", "group_instance_id", "transactional_id", "key", "api_key"),
        *("node_id", "broker_id", "resource_type", "resource_name", "source", "log_dir"),
    }
)
"""Fields that say what a row is about."""
ANSWERED: Mapping[str, tuple[str, ...]] = {
    "AddPartitionsToTxn": ("transactions.topics.partitions", "v3_and_below_topics.partitions"),
    "AlterConfigs": ("resources",),
    "ConsumerGroupDescribe": ("group_ids",),
    "CreatePartitions": ("topics",),
    "CreateTopics": ("topics",),
    "DeleteGroups": ("groups_names",),
    "DeleteRecords": ("topics.partitions",),
    "DeleteTopics": ("topics", "topic_names"),
    "DescribeConfigs": ("resources",),
    "DescribeGroups": ("groups",),
    "DescribeProducers": ("topics.partition_indexes",),
    "DescribeTransactions": ("transactional_ids",),
    "FindCoordinator": ("coordinator_keys",),
    "IncrementalAlterConfigs": ("resources",),
    "ListOffsets": ("topics.partitions",),
    "Metadata": ("topics",),
    "OffsetCommit": ("topics.partitions",),
    "OffsetDelete": ("topics.partitions",),
    "OffsetFetch": ("topics.partition_indexes", "groups", "groups.topics.partition_indexes"),
    "OffsetForLeaderEpoch": ("topics.partitions",),
    "Produce": ("topic_data.partition_data",),
    "TxnOffsetCommit": ("topics.partitions",),
}
"""Where each thing is in a request that has a row in the answer, unless all of it is refused."""
NOT_REPEATED = {"OffsetFetch": "member_id"}
"""A name that the answer need not have: who asks."""
BY_ID_OR_NAME = ("Metadata",)
"""Before version 12 ids are not looked at, and from then on names beside them are not."""
TOPIC_NAMES = ("name", "topic", "topic_name")
NUMBERS = ("int32", "uuid")
"""Lists of nodes, partitions and ids. Lists of words may be a client's, which an answer repeats."""
NOTHING = (None, "", ZERO_UUID)
INDEX = re.compile(r"\[\d+\]")


def must_be_answered_once(exchange: PendingExchange, others: Callable[[str], bool] = lambda _: False) -> None:
    """StatementFalse where the answer has no row, or two, for one thing that was asked for once.

    Two rows of a topic of `others`, which the request does not name, are no matter: what cases beside this one make is
    for them to judge.
    """
    asked, answer = exchange.request, exchange.answer
    if answer is None or exchange.reworded or _names_something_twice(asked):
        return
    named = {name.value for row in _rows(asked) for name in row.own}
    rows = [row for row in _rows(answer) if row.innermost]
    if twice := _twice(row for row in rows if not _is_of_others(row, others, named)):
        _is_false(exchange, f"has two rows in {twice.path} for {twice}", twice, "twice")
    if missing := _missing(asked, rows) if not getattr(answer, "error_code", 0) else None:
        _is_false(exchange, f"has no row for {missing}", missing, "missing")


def _is_of_others(row: AnsweredRow, others: Callable[[str], bool], named: Collection[Any]) -> bool:
    topics = [name.value for name in row.about if name.field in TOPIC_NAMES and isinstance(name.value, str)]
    return any(others(topic) for topic in topics if topic not in named)


def _is_false(exchange: PendingExchange, what: str, row: AnsweredRow, how: str) -> NoReturn:
    api = exchange.request._api
    sentence = f"{api} v{exchange.version} {what}; what is asked for once must be answered once"
    proof = exchange.evidence((row.place,), sentence)
    raise StatementFalse(sentence, proof, (exchange.number,), f"{api}.{row.path}.{how}")


class RowName(NamedTuple):
    """A field that says what a row is about, or an item of a list."""

    field: str
    value: Any


class AnsweredRow(NamedTuple):
    """A row that has names, or an item of a list."""

    place: str
    """With the index of each row that it is in."""
    around: tuple[RowName, ...]
    """The names in the rows that it is in."""
    own: tuple[RowName, ...]
    innermost: bool
    refused: bool
    """With an error code: what is in it need not be answered."""

    @property
    def path(self) -> str:
        """Without indexes."""
        return INDEX.sub("", self.place)

    @property
    def about(self) -> tuple[RowName, ...]:
        """All names that say what it is about."""
        return tuple(name for name in (*self.around, *self.own) if name.value not in NOTHING)

    def __str__(self) -> str:
        return ", ".join(f"{name.field} {name.value}" for name in self.about)


def _names_something_twice(asked: Struct) -> bool:
    """One name is enough: a group that is asked for by two of its members is asked for twice."""
    names = [(row.path, row.around, name) for row in _rows(asked) for name in row.own if name.value not in NOTHING]
    return len(names) > len(set(names))


def _twice(rows: Iterable[AnsweredRow]) -> AnsweredRow | None:
    seen = set()
    for row in rows:
        if (row.path, row.around, row.own) in seen:
            return row
        seen.add((row.path, row.around, row.own))
    return None


def _missing(asked: Struct, rows: Sequence[AnsweredRow]) -> AnsweredRow | None:
    answered = [(row.refused, {name.value for name in row.about}) for row in rows]
    for row in _rows(asked):
        by_id = any(name.field == "topic_id" for name in row.about)
        if row.path not in ANSWERED.get(asked._api, ()) or (by_id and asked._api in BY_ID_OR_NAME):
            continue
        wanted = {name.value for name in row.about if name.field != NOT_REPEATED.get(asked._api)}
        if wanted and not any(wanted <= values or (refused and values <= wanted) for refused, values in answered):
            return row
    return None


def _rows(struct: Struct, place: str = "", around: tuple[RowName, ...] = ()) -> Iterator[AnsweredRow]:
    """Rows in which others are come before these; a topic may have several, for further partitions (Kafka's Fetch)."""
    for field in struct._fields:
        value, name = getattr(struct, field.name), f"{place}.{field.name}".lstrip(".")
        if field.kind == "struct" and not field.array and value is not None:
            yield from _rows(value, name, around)
        for index, row in enumerate(value or () if field.array else ()):
            below = f"{name}[{index}]"
            if field.kind == "struct":
                own = tuple(RowName(name, getattr(row, name)) for name in row._names if name in NAMES)
                if all(one.value in NOTHING for one in own):
                    continue  # what is in it may be about anything
                inner = list(_rows(row, below, (*around, *own)))
                yield AnsweredRow(below, around, own, not inner, bool(getattr(row, "error_code", 0)))
                yield from inner
            elif field.kind in NUMBERS or struct._direction == "request":
                yield AnsweredRow(below, around, (RowName(field.name, row),), True, False)
