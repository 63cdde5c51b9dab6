"""What a run knows, when a case begins, of the steps that lead to its subject (suites/probe/prerequisites.py)."""

from __future__ import annotations

import msgspec


class Met(msgspec.Struct, frozen=True):
    """A step that failed in the case that decides it: `write: no-answer`."""

    step: str
    case: str


class KnownSteps(msgspec.Struct, frozen=True):
    """What the cases that decide these steps have shown so far; stored with the scene, so that `check` knows it too."""

    failed: tuple[Met, ...] = ()
    decided: tuple[str, ...] = ()
    """The steps that an owner has taken, or failed to take."""
