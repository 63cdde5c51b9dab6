"""Makes a sequence that shows a difference as short and plain as it can be while it still shows it.

Whole requests are left out first, many at a time: a few dozen plays. Then Hypothesis shrinks what was chosen in those
that are left, from the choices as its database holds them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, find, settings, strategies
from hypothesis.database import DirectoryBasedExampleDatabase, choices_to_bytes
from hypothesis.errors import HypothesisException

from brokertrial.suites.explore.choices import Choices, DrawnChoices, Recorded, ReplayedChoices, flat
from brokertrial.suites.explore.sequence import SequenceOutcome

Play = Callable[[Choices], SequenceOutcome]


@dataclass(slots=True)
class _Search:
    """The smallest outcome so far that has the difference, and what is left of time and plays."""

    play: Play
    cause: str
    best: SequenceOutcome
    ends: float
    stopped: Callable[[], bool]
    plays_left: int
    plays: int = 0

    @property
    def over(self) -> bool:
        return self.plays_left <= 0 or monotonic() > self.ends or self.stopped()

    def shows(self, choices: Choices) -> bool:
        """Whether a sequence has the difference; kept where it is no longer than the best."""
        self.plays += 1
        self.plays_left -= 1
        outcome = self.play(choices)
        if outcome.difference is None or outcome.difference.cause != self.cause:
            return False
        if _size(outcome) <= _size(self.best):
            self.best = outcome
        return True


def shrunk(
    play: Play,
    found: SequenceOutcome,
    database: Path,
    key: str,
    seconds: float,
    stopped: Callable[[], bool],
    plays: int = 400,
) -> SequenceOutcome:
    """The smallest sequence that was found with the difference of `found`, within a time and a number of plays.

    `play` puts choices to both brokers; the examples are kept in `database` under `key`; `stopped` ends it at once.
    """
    assert found.difference is not None
    search = _Search(play, found.difference.cause, found, monotonic() + seconds, stopped, plays)
    _leave_out_requests(search)
    if not search.over:
        _simplify(search, DirectoryBasedExampleDatabase(database), key.encode())
    return search.best


def _leave_out_requests(search: _Search) -> None:
    """Halves, quarters ... single requests, from the end: the last one is that which differs, and stays."""
    size = max(1, len(search.best.choices) // 2)
    while not search.over:
        removed = _pass(search, size)
        if size == 1 and not removed:
            return
        size = max(1, size // 2)


def _pass(search: _Search, size: int) -> bool:
    removed, end = False, len(search.best.choices) - 1
    while end > 0 and not search.over:
        before = search.best.choices
        begin = max(0, end - size)
        if search.shows(ReplayedChoices([*before[:begin], *before[end:]])):
            removed = True
            end = min(begin, len(search.best.choices) - 1)
        else:
            end = begin
    return removed


def _simplify(search: _Search, database: DirectoryBasedExampleDatabase, key: bytes) -> None:
    database.save(key, choices_to_bytes(flat(search.best.choices)))
    most = len(search.best.choices)
    quiet = settings(
        database=database, phases=(Phase.reuse, Phase.shrink), deadline=None, verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck), max_examples=1, derandomize=False,
    )  # fmt: skip

    def condition(data: Any) -> bool:
        return not search.over and search.shows(DrawnChoices(data, most))

    with suppress(HypothesisException):  # not found again, or not each time: the best so far stands
        find(strategies.data(), condition, settings=quiet, database_key=key)


def _size(outcome: SequenceOutcome) -> tuple[int, int, tuple[Sequence[int], ...]]:
    """What makes a story simpler: fewer requests, fewer choices, smaller ones."""
    recorded: Recorded = outcome.choices
    return len(recorded), sum(map(len, recorded)), recorded
