"""orphan-partition: its definition once more, as loops, how it is put into a legal history."""

from collections.abc import Iterator
from itertools import pairwise

from brokertrial.histories.rows import Event, Membership
from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.oracle.members import memberships
from tests.checkers.wounds import SECOND, Expected, Wound

PEACE_NS = 60_000_000_000


def oracle(facts: Facts) -> Iterator[OracleRow]:
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


def inject_orphan_partition(w: Wound) -> Expected:
    one = w.one(Membership, member="m2")
    w.change(one, until_ns=w.end)
    w.add(Event(kind="conclusion", at_ns=w.end + 61 * SECOND))
    return w.told("orphan-partition", one)
