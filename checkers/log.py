"""The fast path for the linearizability of a log: offsets name the order, so that a running maximum decides it.

Every operation is reduced to two numbers over the length N of the log. before: the greatest N that may hold just before
it takes effect. after: an N that certainly holds once it has.

    append of k records at b    before b    after b+k
    exact end e                 before e    after e
    saw offset o                before inf  after o+1, or the end of the batch that holds o

The history is linearizable iff no operation q returned before another p was called with after(q) > before(p)
(checkers/precedence.py), and (q, p) is the proof. An append without an answer may take effect at any later time: never
a q. The theorem needs appends that do not overlap, and exact ends on batch boundaries: that is tested first.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from checkers.precedence import NEVER as NEVER
from checkers.precedence import Ints, contradictions

APPEND, EXACT, SAW = 0, 1, 2


class Log(NamedTuple):
    """The operations on one partition, one array a property. `low` is the base of an append, the end otherwise."""

    kind: Ints
    op: Ints
    call: Ints
    ret: Ints
    low: Ints
    size: Ints

    def of(self, kind: int) -> "Log":
        """The operations of one kind."""
        chosen = self.kind == kind
        return Log(*(column[chosen] for column in self))

    @property
    def high(self) -> Ints:
        """The end of an append."""
        return self.low + self.size


class Violation(NamedTuple):
    """A pair (q, p) that no order of the operations explains; the numbers are ends of the log, the ops name q and p."""

    name: str
    q: int
    p: int
    after: int
    before: int


def violations(log: Log) -> Iterator[Violation]:
    """Every operation that cannot be placed, with the one that proves it: overlaps, torn batches, then order."""
    appends = _sorted(log.of(APPEND))
    exact, saw = log.of(EXACT), log.of(SAW)
    yield from _overlapping(appends)
    yield from _torn(appends, exact)
    early = [
        (appends.kind, appends.op, appends.ret, appends.high),
        (exact.kind, exact.op, exact.ret, exact.low),
        (saw.kind, saw.op, saw.ret, _batch_end(appends, saw.low)),
    ]
    late = [
        (appends.kind, appends.op, appends.call, appends.low),
        (exact.kind, exact.op, exact.call, exact.low),
    ]
    yield from _out_of_order(_joined(early), _joined(late))


def _sorted(appends: Log) -> Log:
    if bool(np.all(appends.low[1:] >= appends.low[:-1])):
        return appends
    order = np.argsort(appends.low, kind="stable")
    return Log(*(column[order] for column in appends))


def _joined(columns: list[tuple[Ints, Ints, Ints, Ints]]) -> list[Ints]:
    return [np.concatenate(column) for column in zip(*columns, strict=True)]


def _holder(appends: Log, end: Ints) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """The append that begins highest below each end, and whether it reaches beyond that end."""
    place = np.searchsorted(appends.low, end, side="left") - 1
    known = place >= 0
    inside = np.zeros(len(end), dtype=bool)
    inside[known] = appends.high[place[known]] > end[known]
    return place, inside


def _batch_end(appends: Log, end: Ints) -> Ints:
    place, inside = _holder(appends, end)
    result = end.copy()
    result[inside] = appends.high[place[inside]]
    return result


def _overlapping(appends: Log) -> Iterator[Violation]:
    reach = np.maximum.accumulate(appends.high)
    for index in np.flatnonzero(reach[:-1] > appends.low[1:]):
        other = int(np.searchsorted(reach, reach[index], side="left"))
        q, p = int(appends.op[other]), int(appends.op[index + 1])
        yield Violation("offset-divergence", q, p, int(reach[index]), int(appends.low[index + 1]))


def _torn(appends: Log, exact: Log) -> Iterator[Violation]:
    place, inside = _holder(appends, exact.low)
    for index in np.flatnonzero(inside):
        batch = place[index]
        end = int(exact.low[index])
        yield Violation("torn-batch", int(appends.op[batch]), int(exact.op[index]), int(appends.high[batch]), end)


def _out_of_order(early: list[Ints], late: list[Ints]) -> Iterator[Violation]:
    kind, op, ret, after = early
    late_kind, late_op, call, before = late
    for q, p in contradictions(ret, after, call, before):
        name = _NAMES[int(kind[q]) == APPEND, int(late_kind[p]) == APPEND]
        yield Violation(name, int(op[q]), int(late_op[p]), int(after[q]), int(before[p]))


_NAMES = {
    (True, True): "append-order",
    (True, False): "stale-read",
    (False, False): "end-regression",
    (False, True): "read-from-future",
}
