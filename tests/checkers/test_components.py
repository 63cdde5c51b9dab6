"""Strongly connected components, against SciPy's."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from brokertrial.checkers.linearizability.components import components


def arrays(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def sets(labels: np.ndarray) -> set[frozenset[int]]:
    """The partition that labels stand for."""
    members: dict[int, list[int]] = {}
    for node, label in enumerate(labels.tolist()):
        members.setdefault(label, []).append(node)
    return {frozenset(some) for some in members.values()}


def scipys(count: int, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    graph = coo_array((np.ones(len(source)), (source, target)), shape=(count, count)).tocsr()
    return connected_components(graph, connection="strong")[1]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    count = draw(st.integers(1, 12))
    node = st.integers(0, count - 1)
    return count, draw(st.lists(st.tuples(node, node), max_size=30))


@given(graphs(), st.randoms(use_true_random=False))
def test_they_are_those_of_scipy_in_any_order(graph: tuple[int, list[tuple[int, int]]], chance: random.Random) -> None:
    count, pairs = graph
    edges = arrays(pairs)
    expected = sets(scipys(count, *edges))
    assert sets(components(count, *edges)) == expected
    when = np.array([chance.randrange(5) for _ in range(count)])
    assert sets(components(count, *edges, when)) == expected


@pytest.mark.parametrize("back", [[], [(400_000, 399_000)], [(199_999, 0)]])
def test_a_long_chain_needs_no_recursion(back: list[tuple[int, int]]) -> None:
    count = 500_000
    nodes = np.arange(count - 1)
    source, target = np.append(nodes, [a for a, _ in back]), np.append(nodes + 1, [b for _, b in back])
    labels = components(count, source.astype(np.int64), target.astype(np.int64))
    length = back[0][0] - back[0][1] + 1 if back else 1
    assert np.bincount(labels).max() == length
