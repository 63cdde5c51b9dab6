"""Planted bugs: each is one line of data in `mutants/` and exactly one `bugs.on("...")` in the code.

A healthy broker pays one test of an empty dict. A bug with `every = k` bites at each k-th occasion, counted from one,
so that a run repeats; `M05:every=3` on the command line overrides it.
"""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass
from importlib import resources


@dataclass(frozen=True, slots=True)
class Bug:
    """One planted bug, as `reference_impl mutants --json` lists it."""

    id: str
    story: str
    guarantee: str
    cases: tuple[str, ...]
    seen: str = ""
    every: int = 1
    shows: tuple[str, ...] = ("statement",)
    """By what a case that catches it fails: an anomaly, or why a question failed (suites/proving/mutants.py)."""
    caught_by: tuple[str, ...] = ()
    """Cases of the suite that must fail, beside those that name the bug themselves."""

    def as_json(self) -> dict[str, object]:
        return asdict(self)


class UnknownBug(ValueError):
    """A bug was asked for that no file in `mutants/` declares."""


class _Switch:
    __slots__ = ("every", "occasions")

    def __init__(self, every: int) -> None:
        self.every, self.occasions = every, 0

    def bites(self) -> bool:
        self.occasions += 1
        return self.occasions % self.every == 0


_active: dict[str, _Switch] = {}


def on(bug_id: str) -> bool:
    """True when this bug is planted and this occasion is one of those that it spoils."""
    if not _active:
        return False
    switch = _active.get(bug_id)
    return switch is not None and switch.bites()


def planted() -> bool:
    """Whether this broker has a bug: then the classes that spoil are put in the place of the healthy ones."""
    return bool(_active)


def registry() -> dict[str, Bug]:
    """All planted bugs, read from the data files beside this module."""
    found: dict[str, Bug] = {}
    for entry in sorted(
        resources.files("brokertrial.reference_impl").joinpath("mutants").iterdir(), key=lambda e: e.name
    ):
        if entry.name.endswith(".toml"):
            for bug_id, fields in tomllib.loads(entry.read_text("utf-8")).items():
                if bug_id in found:
                    raise ValueError(f"bug {bug_id} is declared twice, the second time in mutants/{entry.name}")
                lists = {name: tuple(value) for name, value in fields.items() if isinstance(value, list)}
                found[bug_id] = Bug(id=bug_id, **{**fields, **lists})
    return found


def plant(specification: str) -> Bug:
    """Plants one bug from `ID` or `ID:every=K`; it stays until `clear`."""
    bug_id, _, options = specification.partition(":")
    bug = registry().get(bug_id)
    if bug is None:
        raise UnknownBug(
            f"no planted bug is called {bug_id!r}; `python -m brokertrial.reference_impl mutants` lists them"
        )
    key, _, value = options.partition("=")
    if options and (key != "every" or not value.isdigit() or int(value) < 1):
        raise UnknownBug(f"{specification!r}: the only option of a planted bug is every=K with K of 1 or more")
    _active[bug_id] = _Switch(int(value) if options else bug.every)
    return bug


def clear() -> None:
    """Makes the broker healthy again (tests)."""
    _active.clear()
