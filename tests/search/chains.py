"""The fast path for a log with two ends that only grow, its start S and its end N: an acyclic graph of what came first.

Two growing numbers order the versions only partially, so that pairs no longer suffice. But every operation says what
it needs and what it forbids, and each is an edge:

    append {base, count}     after N was base, before N is base+count
    delete {to}              after N reached `to`; S is then at least `to`
    end, start, bounds       after the ends reached what they told, before they went beyond it
    read {offset}            after N went beyond the offset, before S did

and so is one operation that returned before another was called. The history is linearizable iff the graph has no cycle:
any order of the nodes is an explanation, and no edge could be left out. A start that several deletes could have made
needs the one that was called first. Deletes without an answer that nobody saw, and appends without one, are left out.
Linear but for the sorting. The same shape as the graphs of Elle (Kingsbury and Alvaro 2020), but exact.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from brokertrial.checkers.linearizability.precedence import NEVER
from tests.search.graph import Graph

APPEND, DELETE, END, START, BOUNDS, READ = range(6)


class Move(NamedTuple):
    """One operation. `low`: base, target, start or offset; `high`: the end that was told, or base and count together.

    `ret` NEVER: no answer came. Such an append counts only when its base is known, since its records were seen.
    """

    kind: int
    op: int
    call: int
    ret: int
    low: int = 0
    high: int = 0


class Cycle(NamedTuple):
    """Operations each of which must come before the next, and the last before the first."""

    name: str
    ops: tuple[int, ...]


def cycles(moves: Sequence[Move]) -> Iterator[Cycle]:
    """What cannot be explained: overlaps, torn batches and starts that nobody made, or else one shortest cycle."""
    appends = sorted((move for move in moves if move.kind == APPEND), key=lambda move: (move.low, move.high))
    moves = _certain(moves)
    flaws = [*_overlapping(appends), *_torn(appends, moves), *_unmade(moves)]
    yield from flaws
    if flaws:
        return
    if cycle := _graph(appends, moves).shortest_cycle():
        yield Cycle("contradiction", tuple(moves[node].op for node in cycle if node < len(moves)))


def _certain(moves: Sequence[Move]) -> list[Move]:
    """The operations that must have happened: a delete without an answer only where no start is explained before it."""
    told = {move.low for move in moves if move.kind in (START, BOUNDS)}
    first: dict[int, Move] = {}
    for move in moves:
        if move.kind == DELETE and move.low in told:
            earlier = first.setdefault(move.low, move)
            first[move.low] = min(earlier, move, key=lambda delete: (delete.call, delete.ret))
    return [
        move
        for move in moves
        if move.ret != NEVER or move.kind == APPEND or (move.kind == DELETE and first.get(move.low) is move)
    ]


def _overlapping(appends: Sequence[Move]) -> Iterator[Cycle]:
    furthest = appends[0] if appends else None
    for append in appends[1:]:
        assert furthest is not None
        if append.low < furthest.high:
            yield Cycle("offset-divergence", (furthest.op, append.op))
        furthest = max(furthest, append, key=lambda move: move.high)


def _torn(appends: Sequence[Move], moves: Sequence[Move]) -> Iterator[Cycle]:
    for move in moves:
        if move.kind in (END, BOUNDS) and (batch := _around(appends, move.high)):
            yield Cycle("torn-batch", (batch.op, move.op))


def _unmade(moves: Sequence[Move]) -> Iterator[Cycle]:
    targets = {move.low for move in moves if move.kind == DELETE} | {0}
    for move in moves:
        if move.kind in (START, BOUNDS) and move.low not in targets:
            yield Cycle("phantom-start", (move.op,))


def _around(appends: Sequence[Move], end: int) -> Move | None:
    """The append that the end of the log would tear."""
    place = bisect_left(appends, end, key=lambda move: move.low) - 1
    return appends[place] if place >= 0 and appends[place].high > end else None


def _graph(appends: Sequence[Move], moves: Sequence[Move]) -> Graph:
    graph = Graph(len(moves))
    graph.real_time([(move.call, None if move.ret == NEVER else move.ret) for move in moves])
    ends = [(_needed_end(appends, move), node) for node, move in enumerate(moves) if move.kind != START]
    axis = sorted({0, *(move.high for move in appends), *(move.low for move in appends), *(end for end, _ in ends)})
    begins = [graph.node() for _ in axis]
    overs = [graph.node() for _ in axis]
    for place in range(len(axis)):
        graph.edge(begins[place], overs[place])
        if place:
            graph.edge(overs[place - 1], begins[place])
    for end, node in ends:
        place, move = bisect_left(axis, end), moves[node]
        if move.kind == APPEND:
            graph.edge(overs[place], node)
            graph.edge(node, begins[place + 1])
        else:
            graph.edge(begins[place], node)
            if move.kind in (END, BOUNDS):
                graph.edge(node, overs[place])
    _start_edges(graph, moves)
    return graph


def _needed_end(appends: Sequence[Move], move: Move) -> int:
    """What N must have reached; a log grows by whole batches."""
    if move.kind == APPEND:
        return move.low
    if move.kind in (END, BOUNDS):
        return move.high
    end = move.low + 1 if move.kind == READ else move.low
    batch = _around(appends, end)
    return batch.high if batch else end


def _start_edges(graph: Graph, moves: Sequence[Move]) -> None:
    """From the delete that made a start to those who saw it, and from them to the deletes that went beyond it."""
    deletes = sorted(
        ((move.low, move.call, node) for node, move in enumerate(moves) if move.kind == DELETE),
    )
    targets = [target for target, _, _ in deletes]
    beyond = [graph.node() for _ in deletes]
    for place, (_, _, node) in enumerate(deletes):
        graph.edge(beyond[place], node)
        if place:
            graph.edge(beyond[place - 1], beyond[place])
    for node, move in enumerate(moves):
        if move.kind not in (START, BOUNDS, READ):
            continue
        if move.kind != READ and move.low > 0:
            graph.edge(deletes[bisect_left(targets, move.low)][2], node)
        place = bisect_right(targets, move.low)
        if place < len(targets):
            graph.edge(node, beyond[place])
