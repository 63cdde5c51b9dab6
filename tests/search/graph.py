"""A graph of what must have come before what, and the shortest cycle in it."""

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from itertools import pairwise

PATIENCE = 200
"""Nodes on cycles from which the shortest one is looked for: more of them tell the same story."""


class Graph:
    """Nodes are numbers from 0: the operations, then those made by `node`, which only pass an order on."""

    def __init__(self, operations: int) -> None:
        self.operations = operations
        self.after: list[list[int]] = [[] for _ in range(operations)]

    def node(self) -> int:
        """One more node."""
        self.after.append([])
        return len(self.after) - 1

    def edge(self, one: int, other: int) -> None:
        """`one` comes before `other`."""
        self.after[one].append(other)

    def real_time(self, times: Sequence[tuple[int, int | None]]) -> None:
        """Every operation comes before those that were called after it had returned (None: never)."""
        returns = sorted({ret for _, ret in times if ret is not None})
        barriers = [self.node() for _ in returns]
        for one, other in pairwise(barriers):
            self.edge(one, other)
        for operation, (call, ret) in enumerate(times):
            if ret is not None:
                self.edge(operation, barriers[bisect_left(returns, ret)])
            earlier = bisect_left(returns, call)
            if earlier:
                self.edge(barriers[earlier - 1], operation)

    def shortest_cycle(self) -> list[int]:
        """The nodes of a cycle with the fewest operations found, or none."""
        left = self._unsorted()
        starts = [node for node in sorted(left) if node < self.operations][:PATIENCE]
        found = [cycle for node in starts if (cycle := self._cycle_through(node, left))]
        return min(found, key=lambda cycle: sum(node < self.operations for node in cycle), default=[])

    def _unsorted(self) -> set[int]:
        """The nodes on cycles and between them: what is left when those without a predecessor or successor are gone."""
        before: list[list[int]] = [[] for _ in self.after]
        for node, successors in enumerate(self.after):
            for successor in successors:
                before[successor].append(node)
        gone = _peeled(self.after, before, [False] * len(self.after))
        gone = _peeled(before, self.after, gone)
        return {node for node, is_gone in enumerate(gone) if not is_gone}

    def _cycle_through(self, start: int, left: set[int]) -> list[int]:
        """The cycle through a node with the fewest operations: passing through other nodes costs nothing."""
        came_from: dict[int, int] = {}
        ahead = deque([start])
        while ahead:
            node = ahead.popleft()
            for successor in self.after[node]:
                if successor == start:
                    return _path(came_from, start, node)
                if successor in left and successor not in came_from:
                    came_from[successor] = node
                    (ahead.append if successor < self.operations else ahead.appendleft)(successor)
        return []


def _peeled(after: Sequence[Sequence[int]], before: Sequence[Sequence[int]], gone: Sequence[bool]) -> list[bool]:
    """Takes away, one after the other, what has no predecessor left."""
    taken = list(gone)
    waits = [sum(not taken[node] for node in predecessors) for predecessors in before]
    free = [node for node, waiting in enumerate(waits) if not waiting and not taken[node]]
    while free:
        node = free.pop()
        taken[node] = True
        for successor in after[node]:
            waits[successor] -= 1
            if not waits[successor] and not taken[successor]:
                free.append(successor)
    return taken


def _path(came_from: dict[int, int], start: int, end: int) -> list[int]:
    path = [end]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return path[::-1]
