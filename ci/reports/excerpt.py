"""A long message cut around the lines that matter: the line at fault is always shown, with what encloses it.

  Metadata response v12
  ... 61 lines
    topics[3]
      partitions[0]
>       error_code  5 (LEADER_NOT_AVAILABLE)
  ... 140 lines
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

AROUND = 8


class ExcerptLine(NamedTuple):
    """A line of a message, or how many were left out here."""

    text: str
    marked: bool = False
    gap: bool = False


def excerpt(text: str, marked: Collection[int] = (), most: int = 30, around: int = AROUND) -> list[ExcerptLine]:
    """At most about so many lines; without a mark, the first ones."""
    lines = text.splitlines()
    if len(lines) <= most:
        return [ExcerptLine(line, number in marked) for number, line in enumerate(lines)]
    kept = set(range(most if not marked else 1))
    for number in sorted(marked):
        if len(kept) < most or number in kept:
            kept |= set(range(max(0, number - around), min(len(lines), number + around + 1)))
        kept |= {number, *enclosing(lines, number)}
    if lines[-1].lstrip().startswith("->"):
        kept.add(len(lines) - 1)  # where it was sent
    return [*_with_gaps(lines, kept, marked)]


def enclosing(lines: Sequence[str], number: int) -> list[int]:
    """The lines above that enclose this one, by their indentation."""
    found, depth = [], _depth(lines[number])
    for above in range(number - 1, -1, -1):
        if _depth(lines[above]) < depth:
            depth = _depth(lines[above])
            found.append(above)
    return found


def _with_gaps(lines: Sequence[str], kept: Collection[int], marked: Collection[int]) -> list[ExcerptLine]:
    shown: list[ExcerptLine] = []
    before = -1
    for number in sorted(kept):
        if missing := number - before - 1:
            shown.append(_gap(missing))
        shown.append(ExcerptLine(lines[number], number in marked))
        before = number
    if missing := len(lines) - before - 1:
        shown.append(_gap(missing))
    return shown


def _gap(missing: int) -> ExcerptLine:
    return ExcerptLine(f"... {missing} line{'s' * (missing > 1)}", gap=True)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
