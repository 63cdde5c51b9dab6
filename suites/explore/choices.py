"""Where the choices of a sequence come from: a seeded stream, a sequence that was kept, or Hypothesis, which shrinks.

A sequence of requests is nothing but the numbers that were chosen while it was made, a list for each request. Each is
below a limit that depends on the model; of several options the first is the plainest, so that smaller is simpler.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Protocol, TypeVar

from hypothesis import strategies

T = TypeVar("T")
Recorded = tuple[tuple[int, ...], ...]
CONTINUES, ENDS = 1, 0


class Choices(Protocol):
    """What makes the sequence of requests that a run puts to two brokers."""

    @property
    def recorded(self) -> Recorded:
        """What was chosen so far, request by request."""

    def below(self, limit: int) -> int:
        """A number from 0 to `limit` - 1; the smaller, the simpler the request."""

    def rule(self, weights: Sequence[float], preferred: Sequence[int]) -> int:
        """Which of so many rules makes the next request; some of them are preferred now."""

    def request(self, make: Callable[[], T]) -> T | None:
        """Makes one more request, or None where the sequence ends."""

    def discard(self) -> None:
        """The last request came to nothing: its choices need not be kept."""


class RandomChoices:
    """From a stream of random numbers, after a beginning that is given; records what it chose.

    `length`: how many requests, at most. A number of the beginning that is not below its limit is taken modulo.
    """

    def __init__(self, rng: Random, length: int, beginning: Sequence[Sequence[int]] = ()) -> None:
        self._rng, self._length = rng, length
        self._beginning = [list(each) for each in beginning]
        self._given: list[int] = []
        self._requests: list[list[int]] = []
        self._attempts = 0

    @property
    def recorded(self) -> Recorded:
        """What was chosen so far, request by request."""
        return tuple(map(tuple, self._requests))

    def below(self, limit: int) -> int:
        chosen = self._given.pop(0) % limit if self._given else self._rng.randrange(limit)
        self._requests[-1].append(chosen)
        return chosen

    def rule(self, weights: Sequence[float], preferred: Sequence[int]) -> int:
        if self._given:
            return self.below(len(weights))
        options = preferred or range(len(weights))
        chosen = self._rng.choices(options, [weights[each] for each in options])[0]
        self._requests[-1].append(chosen)
        return chosen

    def request(self, make: Callable[[], T]) -> T | None:
        self._attempts += 1
        if self._attempts > 3 * self._length or (len(self._requests) >= self._length and not self._beginning):
            return None
        self._given = self._beginning.pop(0) if self._beginning else []
        self._requests.append([])
        return make()

    def discard(self) -> None:
        self._requests.pop()


class ReplayedChoices(RandomChoices):
    """Those of a recorded sequence, and no more; where it lacks a choice the plainest is taken."""

    def __init__(self, recorded: Sequence[Sequence[int]]) -> None:
        super().__init__(Random(0), 0, recorded)

    def below(self, limit: int) -> int:
        chosen = self._given.pop(0) % limit if self._given else 0
        self._requests[-1].append(chosen)
        return chosen

    def rule(self, weights: Sequence[float], preferred: Sequence[int]) -> int:
        return self.below(len(weights))

    def request(self, make: Callable[[], T]) -> T | None:
        if not self._beginning:
            return None
        self._given = self._beginning.pop(0)
        self._requests.append([])
        return make()


class DrawnChoices:
    """Drawn by Hypothesis: `data` is what `strategies.data()` gives. Each request is one example of its own."""

    def __init__(self, data: Any, most: int) -> None:
        self._data, self._draw, self._left = data, data.draw, most
        self._requests: list[list[int]] = []

    @property
    def recorded(self) -> Recorded:
        return tuple(map(tuple, self._requests))

    def below(self, limit: int) -> int:
        chosen = int(self._draw(strategies.integers(0, limit - 1)))
        self._requests[-1].append(chosen)
        return chosen

    def rule(self, weights: Sequence[float], preferred: Sequence[int]) -> int:
        return self.below(len(weights))

    def request(self, make: Callable[[], T]) -> T | None:
        if not self._left:
            return None
        self._left -= 1
        self._requests.append([])
        try:
            made: T | None = self._data.draw(self._one(make))
            return made
        finally:
            self._draw = self._data.draw

    def _one(self, make: Callable[[], T]) -> strategies.SearchStrategy[T | None]:
        @strategies.composite
        def drawn(draw: Any) -> T | None:
            self._draw = draw
            if draw(strategies.integers(ENDS, CONTINUES)) == ENDS:
                self._requests.pop()
                self._left = 0
                return None
            return make()

        return drawn()

    def discard(self) -> None:
        self._requests.pop()


def flat(recorded: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The numbers that Hypothesis draws for a recorded sequence."""
    return (*(number for each in recorded for number in (CONTINUES, *each)), ENDS)
