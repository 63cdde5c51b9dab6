"""The minimal counterexample of an anomaly: the few operations that still show it, as a picture with its size."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.minimise.minimum import Minimum, NotMinimised, minimise
from brokertrial.ci.reports.evidence import SETTING, TimelineEntry, evidence_timeline
from brokertrial.ci.reports.evidence_picture import draw
from brokertrial.histories.header import HistoryRefused
from brokertrial.histories.reader import History

MOST_UNTIMED = 12


@dataclass(frozen=True)
class Counterexample:
    """The picture as SVG; its size, or why there is none; and the lines that have no time."""

    picture: str
    size: str
    untimed: tuple[TimelineEntry, ...] = ()


def smallest(history: History, anomaly: Anomaly, judged: bool, patience_s: float) -> Minimum:
    """The minimised history; the search ends after so many seconds with what there is. Raises NotMinimised."""
    deadline = time.monotonic() + patience_s
    return minimise(history, anomaly, lambda: time.monotonic() < deadline, judged=judged)


def counterexample(folder: Path, anomaly: Anomaly, patience_s: float) -> Counterexample:
    """That of an anomaly in a stored history; it always says what came of it."""
    try:
        history = History.open(folder, allow_incomplete=True)
        minimum = smallest(history, anomaly, True, patience_s)
        proof = evidence_timeline(history, anomaly, minimum.part)
    except NotMinimised as whole:
        return Counterexample("", str(whole))
    except (HistoryRefused, OSError) as error:
        return Counterexample("", f"The history cannot be read: {error}.")
    except Exception as error:  # noqa: BLE001 - the card says it, and all other cards are made
        return Counterexample("", f"It could not be computed: {type(error).__name__}: {error}")
    untimed = tuple(line for line in proof.lines if line.begin is None and line.lane != SETTING)[:MOST_UNTIMED]
    return Counterexample(draw(proof), minimum.sentence, untimed)
