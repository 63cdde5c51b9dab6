"""Which sequences are worth keeping and varying: those that reached what no sequence had reached before.

What counts as reached is a tuple of API, version, error code and state of the model (sequence.py).
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from random import Random

from brokertrial.suites.explore.choices import RandomChoices, Recorded
from brokertrial.suites.explore.sequence import SequenceOutcome, Tuple

LENGTH = (8, 60)
#: So many of ten sequences begin as one that was kept.
VARIED_OF_TEN = 5
KEPT_AT_MOST = 5_000


class Guidance:
    """Draws sequences and takes their outcomes. For several threads."""

    def __init__(self, seed: int, kept: Iterable[Recorded] = ()) -> None:
        self._rng = Random(seed)
        self._lock = threading.Lock()
        self.kept: list[Recorded] = list(kept)
        self.reached: Counter[Tuple] = Counter()
        self._begun = 0
        self._again = list(self.kept)

    def draw(self) -> RandomChoices:
        """The choices of the next sequence: as those kept from earlier runs once, then new, or a kept one varied."""
        with self._lock:
            self._begun += 1
            rng = Random(self._rng.getrandbits(64))
            beginning: list[list[int]] = []
            if self._again:
                beginning = [list(each) for each in self._again.pop()]
            elif self.kept and rng.randrange(10) < VARIED_OF_TEN:
                beginning = varied(rng.choice(self.kept), rng.choice(self.kept), rng)
        return RandomChoices(rng, max(len(beginning), rng.randint(*LENGTH)), beginning)

    def take(self, outcome: SequenceOutcome) -> int:
        """Counts what a sequence reached, keeps it where something of that is new; how much was."""
        with self._lock:
            new = outcome.reached.keys() - self.reached.keys()
            self.reached.update(outcome.reached)
            if new and outcome.difference is None and len(self.kept) < KEPT_AT_MOST:
                self.kept.append(outcome.choices[: outcome.last_new(new)])
            return len(new)


def varied(one: Recorded, other: Recorded, rng: Random) -> list[list[int]]:
    """A kept sequence with something left out, said twice, chosen otherwise, or with the end of another one."""
    requests = [list(each) for each in one]
    for _ in range(rng.randint(1, 3)):
        if not requests:
            break
        place = rng.randrange(len(requests))
        match rng.randrange(5):
            case 0:
                del requests[place]
            case 1:
                requests.insert(place, list(requests[rng.randrange(len(requests))]))
            case 2:
                requests[place] = requests[place][: rng.randint(1, len(requests[place]))]
            case 3:
                at = rng.randrange(len(requests[place]))
                requests[place][at] = rng.randrange(100)
            case 4:
                requests[place:] = [list(each) for each in other[rng.randrange(len(other)) :]] if other else []
    return requests
