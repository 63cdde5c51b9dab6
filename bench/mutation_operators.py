"""What generated mutants change: kinds of mistakes, each of one or more operators of Cosmic Ray, some of them our own.

Cosmic Ray has none that leaves a statement out or swaps arguments; these follow its `Operator`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import get_operator, operator_names

Span = tuple[tuple[int, int], tuple[int, int]]


class _Dropped(Operator):  # type: ignore[misc]
    """A statement that is `pass` instead."""

    def mutation_positions(self, node: Any) -> Iterator[Span]:
        if node.type == "simple_stmt" and self.drops(node.children[0]):
            yield node.children[0].start_pos, node.children[0].end_pos

    def mutate(self, node: Any, index: int) -> Any:
        from parso import parse

        kept = parse("pass").children[0]
        kept.prefix = node.children[0].get_first_leaf().prefix
        kept.parent = node
        node.children[0] = kept
        return node

    def drops(self, statement: Any) -> bool:
        raise NotImplementedError

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return ()


class DroppedCall(_Dropped):
    """`f(x)` that stands alone is not called."""

    def drops(self, statement: Any) -> bool:
        return statement.type in ("atom_expr", "power") and statement.get_last_leaf() == ")"


class ForgottenWrite(_Dropped):
    """`a.b = x`, `a[b] = x` and `a.b += x` do not happen."""

    def drops(self, statement: Any) -> bool:
        return statement.type == "expr_stmt" and statement.children[0].type in ("atom_expr", "power")


class SwappedArguments(Operator):  # type: ignore[misc]
    """`f(a, b)` is `f(b, a)`."""

    def mutation_positions(self, node: Any) -> Iterator[Span]:
        if node.type == "arglist" and len(node.children) >= 3:
            first, second = node.children[0], node.children[2]
            if "argument" not in (first.type, second.type) and first.get_code().strip() != second.get_code().strip():
                yield first.start_pos, second.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        first, second = node.children[0], node.children[2]
        before, after = first.get_first_leaf(), second.get_first_leaf()
        before.prefix, after.prefix = after.prefix, before.prefix
        node.children[0], node.children[2] = second, first
        return node

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return ()


def kinds() -> dict[str, list[Operator]]:
    """Kind of mistake -> what makes it."""
    found: dict[str, list[Operator]] = {
        "dropped call": [DroppedCall()],
        "forgotten write": [ForgottenWrite()],
        "swapped arguments": [SwappedArguments()],
    }
    for kind, begins in _OF_COSMIC_RAY.items():
        found[kind] = [get_operator(name)() for name in operator_names() if name.partition("/")[2].startswith(begins)]
    return found


_OF_COSMIC_RAY = {
    "comparison": ("ReplaceComparisonOperator_",),
    "number": ("NumberReplacer",),
    "negation": ("AddNot",),
    "true and false": ("ReplaceTrueWithFalse", "ReplaceFalseWithTrue"),
    "and, or": ("ReplaceAndWithOr", "ReplaceOrWithAnd"),
    "loop": ("ZeroIterationForLoop", "ReplaceBreakWithContinue", "ReplaceContinueWithBreak"),
    "arithmetic": ("ReplaceBinaryOperator_Add_Sub", "ReplaceBinaryOperator_Sub_Add"),
}
