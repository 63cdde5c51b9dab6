"""Strongly connected components: which nodes of a graph can reach each other.

Most graphs that are asked about are nearly in order: numbered by time, almost every edge leads onward. A circle must
lead back as well, and whatever lies on it lies between the two ends of edges that lead back; all other nodes are alone,
which a few passes over arrays find out. The rest is searched by Tarjan's algorithm, once along each edge, without
recursion.
Source: R. Tarjan, Depth-first search and linear graph algorithms (1972).
"""

import numpy as np
from numpy.typing import NDArray

from brokertrial.checkers.linearizability.precedence import Int64Array


def components(count: int, source: Int64Array, target: Int64Array, when: Int64Array | None = None) -> Int64Array:
    """For each of `count` nodes the number of its component; only whether two are equal means anything.

    `when`: any numbers that edges mostly go up in, a time for example; the nodes' own numbers otherwise. They make it
    quick, and change nothing else.
    """
    labels = np.arange(count, dtype=np.int64)
    rank = labels
    if when is not None:
        rank = np.empty(count, dtype=np.int64)
        rank[np.argsort(when, kind="stable")] = labels
    doubtful = np.flatnonzero(_spanned(count, rank[source], rank[target])[rank])
    if len(doubtful) == 0:
        return labels
    places = np.full(count, -1, dtype=np.int64)
    places[doubtful] = np.arange(len(doubtful))
    kept = (places[source] >= 0) & (places[target] >= 0)
    labels[doubtful] = doubtful[_tarjan(len(doubtful), places[source[kept]], places[target[kept]])]
    return labels


def _spanned(count: int, source: Int64Array, target: Int64Array) -> NDArray[np.bool_]:
    """Which places in the order lie at or between the ends of an edge that leads back."""
    back = source > target
    steps = np.zeros(count + 1, dtype=np.int64)
    np.add.at(steps, target[back], 1)
    np.add.at(steps, source[back] + 1, -1)
    return np.cumsum(steps[:count]) > 0


def _tarjan(count: int, source: Int64Array, target: Int64Array) -> Int64Array:
    """The first member, in the order of the search, of the component of each node."""
    order = np.argsort(source, kind="stable")
    ends = np.searchsorted(source[order], np.arange(count + 1)).tolist()
    heads, at = target[order].tolist(), ends[:-1]
    found, low, label = [0] * count, [0] * count, [-1] * count
    clock, open_nodes = 0, []
    for root in range(count):
        path = [] if found[root] else [root]
        while path:
            node = path[-1]
            if not found[node]:
                clock += 1
                found[node] = low[node] = clock
                open_nodes.append(node)
            if at[node] < ends[node + 1]:
                following = heads[at[node]]
                at[node] += 1
                if not found[following]:
                    path.append(following)
                elif label[following] < 0 and found[following] < low[node]:
                    low[node] = found[following]
                continue
            path.pop()
            if path and low[node] < low[path[-1]]:
                low[path[-1]] = low[node]
            if low[node] == found[node]:
                while label[node] < 0:
                    label[open_nodes.pop()] = node
    return np.array(label, dtype=np.int64)
