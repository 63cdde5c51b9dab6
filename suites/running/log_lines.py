"""A broker's log lines as a report shows them: what it says over and over is said once, with how often it was said."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby

from brokertrial.suites.result import LogLine

FEW = 3
"""So many of a kind in a row are shown as they are."""


def folded(lines: Iterable[LogLine]) -> list[LogLine]:
    """The lines in their order; of more than three in a row that differ in digits alone, the first, with the number."""
    shown: list[LogLine] = []
    for _, group in groupby(lines, lambda line: (line.node, re.sub(r"\d+", "0", line.text))):
        alike = list(group)
        if len(alike) > FEW:
            first = alike[0]
            alike = [LogLine(first.node, f"{first.text}  (and {len(alike) - 1} more like this)", first.at_s)]
        shown += alike
    return shown
