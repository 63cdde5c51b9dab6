"""Who owned a partition until when, and where a successor resumed."""

from collections.abc import Iterator
from typing import NamedTuple

from brokertrial.histories.rows import Membership, Operation, Record
from tests.checkers.oracle.commits import Write, writes
from tests.checkers.oracle.facts import Facts, same_place


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


def commits(facts: Facts, one: Resumption) -> list[Write]:
    key = (one.group, one.row.topic, one.row.partition)
    return [write for write in writes(facts) if (write.row.group, write.row.topic, write.row.partition) == key]


def offset(write: Write) -> int:
    return -1 if write.row.committed_offset is None else write.row.committed_offset
