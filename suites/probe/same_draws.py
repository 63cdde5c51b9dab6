"""What is tried again asks the same again: another question that is answered well would hide the wrong answer."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TypeVar

T = TypeVar("T")


def same_draws(rng: Random, holds: Callable[..., T], *of: object) -> Callable[[], T]:
    """`holds(*of)` for one that tries it again and again: what it draws is the same each time."""
    state = Random(rng.getrandbits(64)).getstate()  # none of what is drawn meanwhile

    def tried() -> T:
        rng.setstate(state)
        return holds(*of)

    return tried
