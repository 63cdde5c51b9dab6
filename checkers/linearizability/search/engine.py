"""The search: Wing and Gong's, with Lowe's memory of the situations that were seen (set of operations done, state).

At every moment the operations that may come next are those that were called before any other one left over returned.
Exponential in what is concurrent: for small histories, and to check the other engines.
Sources: Wing and Gong 1993; Lowe, "Testing for linearizability", 2017; parts apart: Horn and Kroening 2015.
"""

from collections.abc import Hashable, Sequence

from brokertrial.checkers.linearizability.search.model import ModelState, Specification, model
from brokertrial.checkers.linearizability.search.question import Op, Question, SearchResult

NAME = "search"
STATES = 200_000
"""Situations after which the search gives up: about a second and 100 MB."""

_BEGINNING = float("-inf")
_NEVER = float("inf")

SearchState = tuple[int, ModelState]
Origins = dict[SearchState, tuple[SearchState, int] | None]


def search(question: Question, specification: Specification | None = None, states: int = STATES) -> SearchResult:
    """The ruling on a question; `unknown` when a part of it has more than `states` situations."""
    if not question.ops:
        raise ValueError(f"history {question.name!r} is empty: nothing can be said of it.")
    known = specification or model(question.model)
    first = known.start(question.init)
    found = [_search(known, first, part, states) for part in _parts(known, question.ops)]
    steps = sum(each.steps for each in found)
    worst = max(found, key=lambda each: ("ok", "unknown", "illegal").index(each.ruling))
    return SearchResult(worst.ruling, worst.reason, steps, worst.prefix, worst.blocked, NAME)


def _parts(known: Specification, ops: Sequence[Op]) -> list[list[Op]]:
    parts: dict[Hashable, list[Op]] = {}
    for op in ops:
        parts.setdefault(known.part(op) if known.part else None, []).append(op)
    return list(parts.values())


def _search(known: Specification, first: ModelState, unsorted: Sequence[Op], states: int) -> SearchResult:
    ops = sorted(unsorted, key=_called)
    calls = [_called(op) for op in ops]
    returns = [_NEVER if op.ret is None else op.ret for op in ops]
    needed = sum(1 << place for place, op in enumerate(ops) if not op.perhaps)
    came_from: Origins = {(0, first): None}
    ahead: list[SearchState] = [(0, first)]
    steps = 0
    while ahead:
        here = ahead.pop()
        done, state = here
        if done & needed == needed:
            return SearchResult("ok", steps=steps, prefix=_path(came_from, here, ops))
        if len(came_from) > states:
            return SearchResult("unknown", "states", steps)
        for place in reversed(_next(done, calls, returns)):
            steps += 1
            after = known.step(state, ops[place])
            there = (done | 1 << place, after)
            if after is not None and there not in came_from:
                came_from[there] = (here, place)
                ahead.append(there)
    furthest = max(came_from, key=lambda situation: situation[0].bit_count())
    blocked = tuple(ops[place].op for place in _next(furthest[0], calls, returns))
    return SearchResult("illegal", "", steps, _path(came_from, furthest, ops), blocked)


def _called(op: Op) -> float:
    return _BEGINNING if op.call is None else op.call


def _next(done: int, calls: Sequence[float], returns: Sequence[float]) -> list[int]:
    """The places of the operations that may come next, in the order of their calls."""
    left = [place for place in range(len(calls)) if not done >> place & 1]
    soonest = min((returns[place] for place in left), default=_NEVER)
    return [place for place in left if calls[place] <= soonest]


def _path(came_from: Origins, end: SearchState, ops: Sequence[Op]) -> tuple[int, ...]:
    path = []
    while (before := came_from[end]) is not None:
        end, place = before
        path.append(ops[place].op)
    return tuple(reversed(path))
