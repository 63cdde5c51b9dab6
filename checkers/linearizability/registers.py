"""The fast path for a register whose writes are told apart: zones decide whether its history is linearizable.

The write of a value and the reads that returned it are its cluster; f is the earliest return in it, s the latest call.
    f < s    a forward zone (f, s): the value must be in force throughout
    s <= f   a backward zone [s, f]: the value must be in force at some moment in it
Linearizable iff no read returned before its write was called, no two forward zones overlap, and no backward zone lies
strictly inside a forward one. (Gibbons and Korach 1997; zones: Golab, Li and Shah 2011.)
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

FOREVER = 2**63 - 1
EVER = -(2**63)


class Access(NamedTuple):
    """A write of a value, or a read that returned it."""

    op: int
    value: int
    call: int
    ret: int
    is_write: bool


class Zone(NamedTuple):
    """The span of one value: `first` returned earliest of its cluster, `last` was called latest."""

    value: int
    f: int
    s: int
    first: int
    last: int


class Conflict(NamedTuple):
    """Two values that cannot both have been in force when their accesses say so."""

    outer: Zone
    inner: Zone


def conflicts(accesses: Sequence[Access]) -> Iterator[Conflict]:
    """Pairs of values that contradict each other, one for each value that cannot be placed.

    Writes of unknown outcome that nobody read must be left out, reads must name a value that was written. A value that
    was read before its write was called contradicts itself.
    """
    clusters = _clusters(accesses)
    yield from (Conflict(zone, zone) for cluster in clusters if (zone := _foreseen(cluster)))
    zones = sorted((_zone(cluster) for cluster in clusters), key=lambda zone: (zone.f, zone.s, zone.value))
    forward = [zone for zone in zones if zone.f < zone.s]
    widest: Zone | None = None
    for zone in forward:
        if widest is not None and zone.f < widest.s:
            yield Conflict(widest, zone)
        if widest is None or zone.s > widest.s:
            widest = zone
    starts = [zone.f for zone in forward]
    longest = list(accumulate(forward, _longer))
    for zone in zones:
        before = bisect_left(starts, zone.s)
        if zone.f >= zone.s and before and zone.f < longest[before - 1].s:
            yield Conflict(longest[before - 1], zone)


def _longer(one: Zone, other: Zone) -> Zone:
    return other if other.s > one.s else one


def _clusters(accesses: Sequence[Access]) -> list[list[Access]]:
    clusters: dict[int, list[Access]] = {}
    for access in accesses:
        clusters.setdefault(access.value, []).append(access)
    return list(clusters.values())


def _foreseen(cluster: Sequence[Access]) -> Zone | None:
    """The read that returned first and the write, when the read returned before the write was called."""
    zone = _zone(cluster)
    written = next((access for access in cluster if access.is_write), None)
    if written is None or zone.f >= written.call:
        return None
    return Zone(zone.value, zone.f, written.call, zone.first, written.op)


def _zone(cluster: Sequence[Access]) -> Zone:
    first = min(cluster, key=lambda access: (access.ret, access.op))
    last = max(cluster, key=lambda access: (access.call, access.op))
    return Zone(first.value, first.ret, last.call, first.op, last.op)
