"""One run as a column: what was run on what, its results, and what its clients measured."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath

from brokertrial.ci.comparison.notes import TargetNotes
from brokertrial.histories.availability import Profile
from brokertrial.suites.events import RunFinished, RunStarted
from brokertrial.suites.result import CaseResult
from brokertrial.suites.running.claims import NAMES_BEGIN

NUMBERS = re.compile(r"\d+")
COMMIT = re.compile(r"v0\.0\.0-(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)\d{6}-(?P<commit>[0-9a-f]{12})")
LONG = 32
NO_NOTES = TargetNotes(match="")


@dataclass(frozen=True)
class Column:
    """A run of one target; `key` names it in links, `place` is what a user types to get at it."""

    key: str
    place: str
    run: RunStarted
    end: RunFinished
    suite_version: str
    host: Mapping[str, str]
    results: tuple[CaseResult, ...]
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    """Of the cases that drove a load, by their names."""
    notes: TargetNotes = NO_NOTES
    situations: tuple[str, ...] = ()
    nodes: int | None = None
    """How many brokers the target had, where a history says so."""
    sha256: str = ""
    """Of results.jsonl: which run this is, whatever its file is called."""

    @cached_property
    def name(self) -> str:
        """What heads the column: the vendor's name, else the target as it was started."""
        return self.notes.name or short_target(self.run.target)

    @property
    def product(self) -> str:
        """Versions of one product stand together."""
        return self.notes.product or product_of(self.run.target)

    @property
    def version(self) -> str:
        """As the target reports it."""
        return self.run.target_version or "version not stated"

    @property
    def short_version(self) -> str:
        """The same in a table's head: what a Go module is called by its commit, by the day of that commit alone."""
        if found := COMMIT.search(self.version):
            return f"{found['year']}-{found['month']}-{found['day']} {found['commit'][:7]}"
        return self.version if len(self.version) <= LONG else f"{self.version[: LONG - 1]}…"

    @property
    def version_beside(self) -> str:
        """What the name does not say of the version; empty where it says it, or nothing is known."""
        told = self.run.target_version
        return "" if told in ("", "not stated") or told.casefold() in self.name.casefold() else self.short_version

    @property
    def day(self) -> str:
        """`2026-11-25`, UTC."""
        return self.run.started_at[:10]

    @cached_property
    def by_case(self) -> Mapping[str, CaseResult]:
        """The results of cases, without claims and requirements."""
        return {r.case: r for r in self.results if not r.case.startswith(NAMES_BEGIN)}

    @cached_property
    def promises(self) -> Mapping[str, CaseResult]:
        """What was claimed or required and is not there: `claims/...`, `requires/...`."""
        return {r.case: r for r in self.results if r.case.startswith(NAMES_BEGIN)}

    @cached_property
    def left_out(self) -> Mapping[str, str]:
        """The cases that were not run, with why."""
        return {each.case: each.reason for each in self.run.left_out}

    @cached_property
    def machine(self) -> tuple[tuple[str, str], ...]:
        """What is known of the machine, without its name; two that agree in all of it may still be two."""
        return tuple(sorted(self.host.items()))


def short_target(target: str) -> str:
    """The target without the folder of its file."""
    scheme, colon, rest = target.partition(":")
    return PurePosixPath(rest).stem if scheme == "file" and colon else target


def product_of(target: str) -> str:
    """What is left of a target when its version is taken away: `kafka?nodes=3`; of a file, its name without numbers."""
    scheme, _, rest = target.partition(":")
    if scheme == "file":
        return NUMBERS.sub("", PurePosixPath(rest).stem).strip(".-_ ") or rest
    version, question, settings = rest.partition("?")
    if scheme == "kafka":
        return scheme + question + settings
    return f"image:{version.rpartition(':')[0]}{question}{settings}" if scheme == "image" else target


def in_order(columns: Sequence[Column]) -> list[Column]:
    """By version and day, as far as numbers tell: how one product went on."""
    return sorted(columns, key=lambda column: (_numbers(column.version), column.run.started_at))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in NUMBERS.findall(version)[:6])
