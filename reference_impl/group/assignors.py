"""The broker's own assignors: what every member should own. Pure, and the same for the same input.

uniform   as even as subscriptions allow, and as close to what there was as evenness allows
range     per topic contiguous blocks, in the order of the members
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.group.consumer import NOTHING, OwnedPartition, Parts


class Candidate(NamedTuple):
    """A member as an assignor sees it."""

    order: str
    """Its instance id if it has one: a restarted static member gets the same again."""
    may_own: Parts
    had: Parts


Assignor = Callable[[Mapping[str, Candidate]], dict[str, Parts]]


def uniform(members: Mapping[str, Candidate]) -> dict[str, Parts]:
    """Keeps what is allowed, gives the rest to those with the least, then evens out."""
    given: dict[str, set[OwnedPartition]] = {}
    taken: set[OwnedPartition] = set()
    order = sorted(members, key=lambda m: members[m].order)
    if bugs.on("B297"):
        del order[32:]
    for member in order:
        had = NOTHING if bugs.on("K15") else members[member].had
        given[member] = set((had & members[member].may_own) - taken)
        taken |= given[member]
    for part in sorted(_all(members) - taken):
        able = [m for m in order if part in members[m].may_own]
        given[min(able, key=lambda m: len(given[m]))].add(part)
    while move := _better(members, order, given):
        part, giver, taker = move
        given[giver].remove(part)
        given[taker].add(part)
    return {member: frozenset(parts) for member, parts in given.items()}


def _better(
    members: Mapping[str, Candidate], order: list[str], given: dict[str, set[OwnedPartition]]
) -> tuple[OwnedPartition, str, str] | None:
    """A partition that should move: its taker has at least two fewer than its giver."""
    by_load = sorted(order, key=lambda m: len(given[m]))
    for taker in by_load:
        for giver in reversed(by_load):
            if len(given[giver]) - len(given[taker]) < 2:
                break
            able = given[giver] & members[taker].may_own
            if able:
                return max(able), giver, taker
            if bugs.on("B64"):
                break
    return None


def ranges(members: Mapping[str, Candidate]) -> dict[str, Parts]:
    """Each topic on its own: the first members get one partition more where it does not come out even."""
    given: dict[str, set[OwnedPartition]] = {member: set() for member in members}
    by_topic: dict[object, list[OwnedPartition]] = {}
    for part in sorted(_all(members)):
        by_topic.setdefault(part[0], []).append(part)
    for parts in by_topic.values():
        able = sorted((m for m in members if parts[0] in members[m].may_own), key=lambda m: members[m].order)
        if bugs.on("M24j"):
            able.sort(key=lambda m: min((n for topic, n in members[m].had if topic == parts[0][0]), default=len(parts)))
        size, extra = divmod(len(parts), len(able))
        at = 0
        for number, member in enumerate(able):
            count = size + (number < extra)
            given[member] |= set(parts[at : at + count])
            at += count
    return {member: frozenset(parts) for member, parts in given.items()}


def _all(members: Mapping[str, Candidate]) -> Parts:
    return NOTHING.union(*(candidate.may_own for candidate in members.values()))


ASSIGNORS: dict[str, Assignor] = {"uniform": uniform, "range": ranges}
