"""When a fault began, as reports say it: a schedule counts from the end of the warm-up, a reader from the case."""

from __future__ import annotations

from msgspec.structs import replace

from brokertrial.suites.result import Evidence

SCHEDULED = "at the start: "
SAID = "after the warm-up: "


def worded(text: str) -> str:
    """The words of a fault as the schedule has them, without a start that is not that of the case."""
    return text.replace(SCHEDULED, SAID, 1)


def worded_line(entry: Evidence) -> Evidence:
    """A line of evidence with the words of its fault, if it is one."""
    return replace(entry, text=worded(entry.text)) if entry.window else entry
