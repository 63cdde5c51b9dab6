"""What situations are made with: the probe that they act through, what was drawn for them, and a hand on the nodes."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from brokertrial.suites.probe.situation import Situation
from brokertrial.suites.probe.wire import Wire


class ActingSituation(Situation):
    """A situation of this attempt: `number` counts the draws from 1, `rng` gives the same for the same draw and case.

    `disturb` does something to all nodes; only what `needs` nodes calls it, and through the exchanger.
    """

    def __init__(self, wire: Wire, number: int, rng: Random, disturb: Callable[[str], str]) -> None:
        super().__init__()
        self.wire = wire
        self.number = number
        self.rng = rng
        self.disturb = disturb
