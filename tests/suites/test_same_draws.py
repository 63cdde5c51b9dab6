"""What is tried again asks the same question: a wrong answer is not mended by a right one to another question."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokertrial.suites.probe.same_draws import same_draws


@given(seed=st.integers(), before=st.integers(0, 5), tries=st.integers(1, 5))
def test_each_try_draws_the_same(seed, before, tries):
    rng = Random(seed)
    for _ in range(before):
        rng.random()
    tried = same_draws(rng, lambda count: [rng.random() for _ in range(count)], 3)
    assert len({tuple(tried()) for _ in range(tries)}) == 1


@given(seed=st.integers())
def test_what_is_drawn_between_the_tries_is_something_else(seed):
    rng = Random(seed)
    tried = same_draws(rng, rng.random)
    between, first = rng.random(), tried()
    assert rng.random() not in (between, first)
    assert tried() == first != between


def test_what_it_asks_about_is_handed_on_and_its_failure_too():
    def refuses(one: str, other: str) -> None:
        raise ValueError(f"{one} {other}")

    with pytest.raises(ValueError, match="a b"):
        same_draws(Random(1), refuses, "a", "b")()
