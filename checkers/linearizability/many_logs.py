"""Many small logs judged as one: a million partitions of a few operations each in a few sorts.

The test of checkers/linearizability/log.py only compares: times with times, offsets with offsets. So every time of
every log becomes its place among all times, one log after the other, and every offset likewise:

    log 0    offsets 5, 9        -> 0, 1          times 100, 200       -> 0, 1
    log 1    offsets 0, 9        -> 2, 3          times  50, 150, 200  -> 2, 3, 4

Of two operations of different logs the one of the later log now has both the later times and the higher offsets, and
two such never contradict each other. Within a log nothing has changed. What is found is told in the offsets of before.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from brokertrial.checkers.linearizability.log import LogOperations, Violation, violations
from brokertrial.checkers.linearizability.precedence import NEVER, Int64Array


class Axis(NamedTuple):
    """The distinct numbers of each log, log after log: whose each is, and what it was."""

    owner: Int64Array
    number: Int64Array


def violations_of(owner: Int64Array, logs: LogOperations) -> Iterator[tuple[int, Violation]]:
    """Every violation with the log that it is in; `owner` names the log of each operation of `logs`."""
    (low, high), offsets = _ranked(owner, logs.low, logs.high)
    (call, ret), _ = _ranked(owner, logs.call, logs.ret)
    ret[logs.ret == NEVER] = NEVER
    for found in violations(LogOperations(logs.kind, logs.op, call, ret, low, high - low)):
        after, before = int(offsets.number[found.after]), int(offsets.number[found.before])
        yield int(offsets.owner[found.before]), found._replace(after=after, before=before)


def _ranked(owner: Int64Array, *columns: Int64Array) -> tuple[list[Int64Array], Axis]:
    """The columns with each number replaced by its place on one axis of all logs."""
    owners, numbers = np.tile(owner, len(columns)), np.concatenate(columns)
    order = np.lexsort((numbers, owners))
    owners, numbers = owners[order], numbers[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (owners[1:] != owners[:-1]) | (numbers[1:] != numbers[:-1])
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.cumsum(new) - 1
    return np.split(places, len(columns)), Axis(owners[new], numbers[new])
