"""The situations that a case may be met in: one file each, found by its name. See docs/situations.md."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from random import Random

from brokertrial.suites.draw import Draw
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.situations.acting import ActingSituation

DRAWS = 3
"""How many draws of a situation there are for a case."""
Disturb = Callable[[str], str]
"""Does something to all nodes ("stop", "crash", "move") and returns what came of it."""


@cache
def situations() -> Mapping[str, type[ActingSituation]]:
    """Every situation by its name: that of its file, with dashes."""
    found: dict[str, type[ActingSituation]] = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        module = importlib.import_module(f"{__name__}.{path.stem}")
        if isinstance(kind := getattr(module, "SITUATION", None), type) and issubclass(kind, ActingSituation):
            found[path.stem.replace("_", "-")] = kind
    return found


def situation_of(draw: Draw, case: str, wire: Wire, disturb: Disturb) -> ActingSituation:
    """The situation of one attempt at a case; what is drawn in it is the same each time."""
    rng = Random(f"{draw}/{case}")
    return situations()[draw.situation](wire, draw.number, rng, disturb)
