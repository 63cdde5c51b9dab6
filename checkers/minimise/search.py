"""Delta debugging: takes away as much as can be taken away, many attempts to a question.

Zeller and Hildebrandt 2002 (ddmin), with all complements of one granularity asked about at once, because the judge
answers for a hundred parts of a history in hardly more time than for one.
"""

from collections.abc import Callable, Sequence

import numpy as np

from brokertrial.checkers.linearizability.precedence import Int64Array

Shows = Callable[[Sequence[Int64Array]], list[bool]]
"""Whether each of these choices of atoms still shows it; raises OutOfTime instead of beginning what may not begin."""


PIECES = 64
"""As many are tried at once: a question costs nearly the same for two parts of a history as for so many."""


class OutOfTime(Exception):
    """The search was told to stop; `best` is the smallest choice that was seen to show it."""

    def __init__(self, best: Int64Array | None = None) -> None:
        super().__init__("stopped")
        self.best = best


def smallest(count: int, shows: Shows) -> Int64Array:
    """A choice of 0 to `count` - 1 of which no single one can be taken away; raises OutOfTime with the best so far."""
    kept = np.arange(count, dtype=np.int64)
    pieces = min(PIECES, count)
    try:
        while pieces:
            chunks = np.array_split(kept, pieces)
            answers = shows([_without(kept, [chunk]) for chunk in chunks])
            needless = [chunk for chunk, shown in zip(chunks, answers, strict=True) if shown]
            if needless:
                gone = _together(kept, needless, shows)
                kept = _without(kept, needless[:gone])
                pieces = min(len(kept), max(PIECES, pieces - gone))
            elif pieces < len(kept):
                pieces = min(len(kept), 4 * pieces)
            else:
                break
    except OutOfTime:
        raise OutOfTime(kept) from None
    return kept


def _together(kept: Int64Array, needless: Sequence[Int64Array], shows: Shows) -> int:
    """How many of them can go at once: each alone can, so at least one."""
    tries = sorted({len(needless), *(2**power for power in range(1, 24) if 2**power < len(needless))} - {1})
    answers = shows([_without(kept, needless[:number]) for number in tries]) if tries else []
    return max([number for number, shown in zip(tries, answers, strict=True) if shown], default=1)


def _without(kept: Int64Array, gone: Sequence[Int64Array]) -> Int64Array:
    return np.setdiff1d(kept, np.concatenate(gone), assume_unique=True)
