"""The test that decides every object of which the answers name a version: no operation contradicts an earlier one.

Each operation has two numbers on the axis of versions. before: the greatest version that may be in force just before it
takes effect. after: a version that has certainly been reached once it has. There is an order that explains all answers
iff no operation q returned before another p was called with after(q) > before(p). Sorting by return and keeping the
running maximum of `after` finds every such p: O(n log n). Time touching time is concurrent.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]

NEVER = int(np.iinfo(np.int64).max)


def contradictions(
    ret: Int64Array, after: Int64Array, call: Int64Array, before: Int64Array
) -> Iterator[tuple[int, int]]:
    """Every operation of the second kind that cannot be placed, with the one of the first kind that proves it."""
    order = np.argsort(ret, kind="stable")
    order = order[: np.searchsorted(ret[order], NEVER, side="left")]
    if not len(order):
        return
    best = np.maximum.accumulate(after[order])
    place = np.searchsorted(ret[order], call, side="left") - 1
    reached = np.where(place >= 0, best[np.maximum(place, 0)], np.iinfo(np.int64).min)
    for index in np.flatnonzero(reached > before):
        witness = int(np.searchsorted(best, reached[index], side="left"))
        yield int(order[witness]), int(index)
