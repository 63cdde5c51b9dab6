"""What members of groups were given and told: group-skipped, group-repeated, zombie-commit, generations, orphans."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from brokertrial.histories.rows import Membership, Operation, Record
from tests.checkers.oracle.commits import FOREVER, Write, writes
from tests.checkers.oracle.facts import Facts, OracleRow, same_place

PEACE_NS = 60_000_000_000


def memberships(facts: Facts) -> list[Membership]:
    """All ownerships, as the wire and the clients told them."""
    return [row for row in facts.rows("memberships") if isinstance(row, Membership)]


def reset_groups(facts: Facts) -> set[str | None]:
    """Groups that somebody deleted, in whole or in their offsets."""
    kinds = ("delete_group", "delete_groups", "delete_offsets")
    return {row.group for row in facts.operations if row.kind in kinds and row.outcome != "fail"}


class Resumption(NamedTuple):
    """Where a stream of a subscribed member began, in which call, and since when it owned the partition."""

    group: str
    row: Record
    call: Operation
    since: int | None


def resumptions(facts: Facts) -> Iterator[Resumption]:
    """The first records of streams of subscribed members whose groups commit only what the history knows."""
    automatic = {client.group for client in facts.clients.values() if client.auto_commit} | reset_groups(facts)
    seekers = {row.client for row in facts.operations if row.kind == "seek"}
    denied = {(event.topic, event.partition) for event in facts.events if event.kind == "out-of-range"}
    for row in facts.found:
        client = facts.clients.get(row.client)
        if client is None or client.mode != "subscribe" or client.group is None or client.group in automatic:
            continue
        if row.stream is None or row.position != 0 or row.client in seekers or (row.topic, row.partition) in denied:
            continue
        for call in facts.operations:
            if call.op == row.op and same_place(call, row) and call.outcome == "ok" and call.return_ns is not None:
                starts = [
                    own.from_ns
                    for own in memberships(facts)
                    if (own.client, own.group, own.topic, own.partition)
                    == (row.client, client.group, row.topic, row.partition)
                    and own.from_ns <= call.return_ns
                ]
                yield Resumption(client.group, row, call, max(starts, default=None))


def _commits(facts: Facts, one: Resumption) -> list[Write]:
    key = (one.group, one.row.topic, one.row.partition)
    return [write for write in writes(facts) if (write.row.group, write.row.topic, write.row.partition) == key]


def _offset(write: Write) -> int:
    return -1 if write.row.committed_offset is None else write.row.committed_offset


def group_repeated(facts: Facts) -> Iterator[OracleRow]:
    """Given an offset below a commit that was in force when the member was told of its partition."""
    for one in resumptions(facts):
        first, returned = one.row.offset or 0, one.call.return_ns or 0
        here = _commits(facts, one)
        lower = [write for write in here if _offset(write) <= first and write.call <= returned]
        sure = [
            write
            for write in here
            if one.since is not None
            and write.done < one.since
            and _offset(write) > first
            and not any(other.done == FOREVER or other.done >= write.call for other in lower)
        ]
        if sure:
            yield {
                "topic": one.row.topic,
                "partition": one.row.partition,
                "group_id": one.group,
                "offset_a": first,
                "offset_b": max(_offset(write) for write in sure),
                "value_a": one.row.value,
                "op_a": min(write.row.op for write in sure),
                "op_b": one.row.op,
            }


def group_skipped(facts: Facts) -> Iterator[OracleRow]:
    """Began above everything that may have been committed, past records that every reader must be shown."""
    for one in resumptions(facts):
        first, returned = one.row.offset or 0, one.call.return_ns or 0
        before = [write for write in _commits(facts, one) if write.call <= returned]
        if not before or not any(write.done < returned for write in before):
            continue
        reach = max(_offset(write) for write in before)
        between = {
            seen.offset
            for seen in facts.seen
            if same_place(seen, one.row)
            and seen.offset is not None
            and reach <= seen.offset < first
            and seen.offset >= facts.low(seen.topic, seen.partition)
            and not facts.compacted(seen.topic)
            and _shown_to_all(facts, seen)
        }
        if between:
            yield {
                "topic": one.row.topic,
                "partition": one.row.partition,
                "group_id": one.group,
                "offset_a": min(between),
                "offset_b": first,
                "value_b": one.row.value,
                "op_a": min(write.row.op for write in before),
                "op_b": one.row.op,
            }


def _shown_to_all(facts: Facts, seen: Record) -> bool:
    """Whether some sender of the value sent it outside transactions alone, or in one that committed."""
    txns = [row.txn for row in facts.sent if row.value == seen.value and row.txn is not None]
    return not txns or any(facts.transaction(txn) == "committed" for txn in txns)


def _classic(facts: Facts) -> dict[tuple[str | None, int], int]:
    """When each generation of each classic group was first seen."""
    new = {client.group for client in facts.clients.values() if client.protocol == "consumer"}
    out = new | reset_groups(facts)
    told = [(own.group, own.generation, own.from_ns) for own in memberships(facts)]
    for row in facts.operations:
        if row.group is not None and row.generation is not None and row.outcome == "ok" and row.return_ns is not None:
            told.append((row.group, row.generation, row.return_ns))
    first: dict[tuple[str | None, int], int] = {}
    for group, generation, at in told:
        if generation >= 0 and group not in out:
            first[group, generation] = min(at, first.get((group, generation), at))
    return first


def zombie_commit(facts: Facts) -> Iterator[OracleRow]:
    """Accepted, although a newer generation had been told of before it was called."""
    generations = _classic(facts)
    for row in facts.operations:
        if row.kind not in ("commit", "commit-seen") or row.outcome != "ok":
            continue
        if row.generation is None or row.generation < 0:
            continue
        newer = {
            number: at
            for (group, number), at in generations.items()
            if group == row.group and number > row.generation and at < row.call_ns
        }
        if newer:
            witnesses = [
                other.op
                for other in facts.operations
                if other.group == row.group and other.generation in newer and other.return_ns == newer[other.generation]
            ]
            yield {
                "topic": row.topic,
                "partition": row.partition,
                "group_id": row.group,
                "offset_a": row.committed_offset,
                "op_a": row.op,
                "op_b": min(witnesses, default=None),
            }


def generation_regression(facts: Facts) -> Iterator[OracleRow]:
    """A member was given a partition in a generation below one that it had been told of."""
    found = set()
    told: dict[tuple[str, str], list[Membership]] = {}
    for own in memberships(facts):
        if own.generation >= 0 and own.group not in reset_groups(facts):
            told.setdefault((own.group, own.member), []).append(own)
    for (group, _), rows in told.items():
        for own in rows:
            if any(before.generation > own.generation for before in rows if before.from_ns < own.from_ns):
                found.add((own.topic, own.partition, group))
    for topic, partition, group in found:
        yield {"topic": topic, "partition": partition, "group_id": group}


def orphan_partition(facts: Facts) -> Iterator[OracleRow]:
    """Owned before, and by nobody for a minute of peace in which others owned parts of its topic."""
    new = {client.group for client in facts.clients.values() if client.protocol == "consumer"}
    told = [own for own in memberships(facts) if own.generation >= 0]
    marks = {event.at_ns for event in facts.events if event.kind in ("final-read", "conclusion")}
    found = set()
    for group in {own.group for own in told}:
        mine = [own for own in told if own.group == group]
        ends = {own.until_ns for own in mine if own.until_ns is not None}
        for begin, end in pairwise(sorted({own.from_ns for own in mine} | ends | marks)):
            if end - begin < PEACE_NS:
                continue
            lasting = [own for own in mine if own.from_ns <= begin and (own.until_ns is None or own.until_ns >= end)]
            owned = {(own.topic, own.partition) for own in lasting}
            for topic, partition in {(own.topic, own.partition) for own in mine if own.from_ns < begin} - owned:
                if topic in {each for each, _ in owned}:
                    found.add((topic, partition, group))
    for topic, partition, group in found:
        attribution = "broker" if group in new else "unknown"
        yield {"topic": topic, "partition": partition, "group_id": group, "attribution": attribution}
