"""The baseline of a first run: everything that failed becomes known, each entry with a day on which it expires."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from pathlib import Path

from brokertrial.ci.errors import UserError
from brokertrial.ci.reports.known import lines_to_record
from brokertrial.suites.result import CaseResult

EXPIRES_IN_DAYS = 90
HEAD = """\
# Failures of {target} that are known: only others turn the gate red, and so does an entry whose case passes or whose
# day has come. Written by `brokertrial gate --write-baseline` on {today}; give each entry its own reason.
"""


def must_be_new(path: Path) -> None:
    """Raises UserError where there is a baseline already: one that is overwritten forgives what is new."""
    if path.exists():
        raise UserError(
            f"{path} exists; --write-baseline writes the first one.",
            "Leave the option out, or copy entries from known-failures.toml in the folder of a red run.",
        )


def must_exist(path: Path) -> None:
    """Raises UserError where there is none."""
    if not path.is_file():
        raise UserError(
            f"{path}: there is no such baseline.",
            "For a first run: add --write-baseline. An empty file means that nothing may fail.",
        )


def text(target: str, failed: Iterable[CaseResult], today: date, days: int) -> str:
    """The file."""
    reason, expires = f"failed in the first run of the gate, {today}", today + timedelta(days=days)
    lines = [line for result in failed for line in lines_to_record(result, reason=reason, expires=expires)]
    return "\n".join([HEAD.format(target=target, today=today), *lines])
