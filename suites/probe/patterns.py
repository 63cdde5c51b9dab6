"""Patterns as brokers take them (RE2), of which it is known what they mean: whole names, and no parts of names."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random


def drawn_pattern(rng: Random, names: Sequence[str], wanted: Sequence[str]) -> str:
    """A pattern that means just `wanted` of these names, though each of the others holds one of its alternatives."""
    alternatives = [_written(rng, name) for name in wanted]
    alternatives += [_part(rng, name, names) for name in names if name not in wanted]
    return "|".join(rng.sample(alternatives, len(alternatives)))


def _written(rng: Random, name: str) -> str:
    """The name in one of the ways in which a pattern can say it."""
    head, last = name[:-1], name[-1]
    return rng.choice(
        [name, f"({name})", f"(?:{head})[{last}]", f"^{name}$", f"{name}(?:-more)?", f"{head}{last}{{1}}"]
    )


def _part(rng: Random, name: str, names: Sequence[str]) -> str:
    """Its beginning, its end or its middle, which is no name itself."""
    parts = [name[:-1], name[1:], name[1:-1], f"^{name[:-1]}", f"{name[1:]}$"]
    return rng.choice([part for part in parts if part not in names])
