"""A file of known differences of a target, so that only what is new turns an exploration red.

    [[known]]
    cause = "Produce: responses.partition_responses.error_code NONE / INVALID_RECORD"    # as a report has it
    reason = "fixed in 2.4"
    expires = 2027-03-01        # optional: from this day on the difference counts again

`*` in a cause stands for anything.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from brokertrial.suites.explore.finding import ShrunkDifference
from brokertrial.suites.running.bad_options import BadOptions


class KnownDifference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of the file."""

    cause: str
    reason: str
    expires: date | None = None

    def covers(self, finding: ShrunkDifference, today: date) -> bool:
        """Whether a finding is this difference, and the entry still holds."""
        return fnmatchcase(finding.cause, self.cause) and (self.expires is None or today < self.expires)


class _KnownDifferencesFile(msgspec.Struct, forbid_unknown_fields=True):
    known: list[KnownDifference]


def read(path: Path) -> list[KnownDifference]:
    """The entries of a file; raises BadOptions with one sentence where it cannot be used."""
    try:
        return msgspec.convert(tomllib.loads(path.read_text("utf-8")), _KnownDifferencesFile).known
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise BadOptions(f"--known {path}: {error}.") from None


def marked(
    findings: Iterable[ShrunkDifference], known: Iterable[KnownDifference], today: date | None = None
) -> list[ShrunkDifference]:
    """The findings, each with the reason why it is known, where it is."""
    day, entries = today or datetime.now(UTC).date(), list(known)
    return [
        msgspec.structs.replace(each, known=next((k.reason for k in entries if k.covers(each, day)), ""))
        for each in findings
    ]


def stale(findings: Iterable[ShrunkDifference], known: Iterable[KnownDifference]) -> tuple[str, ...]:
    """Causes that are known and were not met."""
    causes = [each.cause for each in findings]
    return tuple(each.cause for each in known if not any(fnmatchcase(cause, each.cause) for cause in causes))
