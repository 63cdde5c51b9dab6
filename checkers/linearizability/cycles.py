"""Cycles in a graph of dependencies between operations, found without trying paths.

A cycle of some kinds of edges exists where a strongly connected component of just those edges has two members, and one
that needs an edge of a certain kind where such an edge lies inside a component: then its end leads back to its start.
Both are linear in the edges, so that no search can run out of time.

Time is a chain of moments, one for each return: an operation leads to the moment of its return, each moment to the
next, and the last moment before a call to the operation called. Two operations are then connected exactly when one
returned before the other was called, with three edges an operation instead of one for each pair.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from brokertrial.checkers.linearizability.components import components
from brokertrial.checkers.linearizability.precedence import Int64Array


class Edges(NamedTuple):
    """Edges of one kind between nodes that are numbered from 0."""

    source: Int64Array
    target: Int64Array

    @classmethod
    def of(cls, pairs: Sequence[tuple[int, int]]) -> "Edges":
        """From pairs."""
        table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return cls(table[:, 0], table[:, 1])

    def within(self, places: Int64Array) -> "Edges":
        """Those among some nodes alone, which `places` numbers anew (-1: not one of them)."""
        source, target = places[self.source], places[self.target]
        kept = (source >= 0) & (target >= 0)
        return Edges(source[kept], target[kept])


def joined(*kinds: Edges) -> Edges:
    """All edges of several kinds."""
    return Edges(np.concatenate([edges.source for edges in kinds]), np.concatenate([edges.target for edges in kinds]))


def knots(count: int, edges: Edges, nodes: int, when: Int64Array | None = None) -> Iterator[Int64Array]:
    """The components that hold two or more of the first `nodes` nodes, as arrays of those; `when` as `components` has
    it."""
    labels = components(count, *edges, when)[:nodes]
    _, inverse, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    tied = np.flatnonzero(sizes[inverse] > 1)
    order = tied[np.argsort(inverse[tied], kind="stable")]
    if len(order):
        yield from np.split(order, np.flatnonzero(np.diff(inverse[order])) + 1)


def cycle(count: int, edges: Edges, required: Edges) -> list[int] | None:
    """The nodes of a short cycle with an edge of `required` (a part of `edges`), from that edge's end to its start."""
    labels = components(count, *edges)
    inside = np.flatnonzero(labels[required.source] == labels[required.target])
    if len(inside) == 0:
        return None
    after = _neighbours(labels, edges)
    tries = [(int(required.source[at]), int(required.target[at])) for at in inside[:TRIES]]
    return min((_path(after, target, source) for source, target in tries), key=len)


TRIES = 16
"""Edges from which a shortest cycle is looked for; the shortest of those is told."""


def _neighbours(labels: Int64Array, edges: Edges) -> dict[int, list[int]]:
    """Where each node leads to within its component."""
    after: dict[int, list[int]] = {}
    inside = labels[edges.source] == labels[edges.target]
    for source, target in zip(edges.source[inside].tolist(), edges.target[inside].tolist(), strict=True):
        after.setdefault(source, []).append(target)
    return after


def _path(after: dict[int, list[int]], start: int, end: int) -> list[int]:
    before = {start: start}
    waiting = deque([start])
    while end not in before:
        node = waiting.popleft()
        for following in after.get(node, ()):
            if following not in before:
                before[following] = node
                waiting.append(following)
    path = [end]
    while path[-1] != start:
        path.append(before[path[-1]])
    return path[::-1]


def moments(calls: Int64Array, returns: Int64Array, done: NDArray[np.bool_]) -> tuple[Edges, Edges, int]:
    """The chain of moments: edges into it, all other edges of it, and how many nodes there are with it.

    `done`: which operations certainly ended at their return; only those come before others.
    """
    count = len(calls)
    ended = np.flatnonzero(done)
    ended = ended[np.argsort(returns[ended], kind="stable")]
    chain = np.arange(count, count + len(ended))
    latest = np.searchsorted(returns[ended], calls, side="left") - 1
    called = np.flatnonzero(latest >= 0)
    onward = joined(Edges(chain[:-1], chain[1:]), Edges(chain[latest[called]], called))
    return Edges(ended, chain), onward, count + len(ended)
