"""The fast path for the linearizability of a log: offsets name the order, so that a running maximum decides it.

Every operation is reduced to two numbers over the length N of the log. before: the greatest N that may hold just before
it takes effect. after: an N that certainly holds once it has.

    append of k records at b    before b    after b+k
    exact end e                 before e    after e
    saw offset o                before inf  after o+1, or the end of the batch that holds o

The history is linearizable iff no operation q returned before another p was called with after(q) > before(p)
(checkers/linearizability/precedence.py), and (q, p) is the proof. An append without an answer may take effect at any
later time: never a q. The theorem needs appends that do not overlap, and exact ends on batch boundaries: that is tested
first."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from brokertrial.checkers.linearizability.precedence import NEVER as NEVER
from brokertrial.checkers.linearizability.precedence import Int64Array, contradictions

APPEND, EXACT, SAW = 0, 1, 2
_UNBOUND = NEVER


class LogOperations(NamedTuple):
    """The operations on one partition, one array a property. `low` is the base of an append, the end otherwise."""

    kind: Int64Array
    op: Int64Array
    call: Int64Array
    ret: Int64Array
    low: Int64Array
    size: Int64Array

    @property
    def high(self) -> Int64Array:
        """The end of an append, or the end told."""
        return self.low + self.size


class Violation(NamedTuple):
    """A pair (q, p) that no order of the operations explains; the numbers are ends of the log, the ops name q and p."""

    name: str
    q: int
    p: int
    after: int
    before: int


def violations(log: LogOperations) -> Iterator[Violation]:
    """Every operation that cannot be placed, with the one that proves it: overlaps, torn batches, then order."""
    appends = _sorted(log)
    yield from _overlapping(appends)
    place, inside = _holder(appends, log.low)
    inside &= log.kind != APPEND
    yield from _torn(appends, log, place, inside & (log.kind == EXACT))
    after = log.high
    seen = inside & (log.kind == SAW)
    after[seen] = appends.high[place[seen]]
    before = np.where(log.kind == SAW, _UNBOUND, log.low)
    for q, p in contradictions(log.ret, after, log.call, before):
        name = _NAMES[int(log.kind[q]) == APPEND, int(log.kind[p]) == APPEND]
        yield Violation(name, int(log.op[q]), int(log.op[p]), int(after[q]), int(before[p]))


class _Appends(NamedTuple):
    """The appends by their bases."""

    op: Int64Array
    low: Int64Array
    high: Int64Array


def _sorted(log: LogOperations) -> _Appends:
    chosen = np.flatnonzero(log.kind == APPEND)
    low = log.low[chosen]
    if not bool(np.all(low[1:] >= low[:-1])):
        order = np.argsort(low, kind="stable")
        chosen, low = chosen[order], low[order]
    return _Appends(log.op[chosen], low, low + log.size[chosen])


def _holder(appends: _Appends, end: Int64Array) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
    """The append that begins highest below each end, and whether it reaches beyond that end."""
    place = np.searchsorted(appends.low, end, side="left") - 1
    if not len(appends.low):
        return place, np.zeros(len(end), dtype=bool)
    return place, (place >= 0) & (appends.high[np.maximum(place, 0)] > end)


def _overlapping(appends: _Appends) -> Iterator[Violation]:
    reach = np.maximum.accumulate(appends.high)
    for index in np.flatnonzero(reach[:-1] > appends.low[1:]):
        other = int(np.searchsorted(reach, reach[index], side="left"))
        q, p = int(appends.op[other]), int(appends.op[index + 1])
        yield Violation("offset-divergence", q, p, int(reach[index]), int(appends.low[index + 1]))


def _torn(appends: _Appends, log: LogOperations, place: Int64Array, torn: npt.NDArray[np.bool_]) -> Iterator[Violation]:
    for index in np.flatnonzero(torn):
        batch, end = place[index], int(log.low[index])
        yield Violation("torn-batch", int(appends.op[batch]), int(log.op[index]), int(appends.high[batch]), end)


_NAMES = {
    (True, True): "append-order",
    (True, False): "stale-read",
    (False, False): "end-regression",
    (False, True): "read-from-future",
}
