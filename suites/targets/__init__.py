"""Targets: brokers on trial. One file a target; a string such as `kafka:4.4.0?nodes=3` opens it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from brokertrial import extensions
from brokertrial.suggestion import nearest_or_all
from brokertrial.suites.targets.address import Address
from brokertrial.suites.targets.base import (
    ALLOWANCES,
    FEATURES,
    NodeLogLine,
    Target,
    TargetNotAvailable,
    TargetNotReady,
    TargetProblem,
    UnknownTarget,
)

__all__ = [
    "ALLOWANCES",
    "FEATURES",
    "NodeLogLine",
    "Target",
    "TargetNotAvailable",
    "TargetNotReady",
    "TargetProblem",
    "UnknownTarget",
    "known_targets",
    "open_target",
]


def open_target(text: str, workdir: Path) -> Target:
    """The target that a string names, not started yet. Raises a TargetProblem with one clear sentence."""
    try:
        address = Address.parse(text)
    except ValueError as error:
        raise UnknownTarget(f"{text}: {error}.") from error
    known = known_targets()
    if (kind := known.get(address.scheme)) is None:
        raise UnknownTarget(f"`{address.scheme}` is no target.", hint=nearest_or_all(address.scheme, known))
    for option in address.options:
        if option not in kind.options:
            raise UnknownTarget(
                f"{text}: {kind.scheme} has no option `{option}`.", hint=nearest_or_all(option, kind.options)
            )
    return kind(address, workdir)


def known_targets() -> dict[str, type[Target]]:
    """Every target by its scheme: the subclasses of Target in the files of this folder, and what others contribute."""
    names = [each.name for each in pkgutil.iter_modules(__path__) if not each.ispkg and not each.name.startswith("_")]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    own = dict(kind for module in modules for kind in _targets_of(module))
    return dict(sorted(extensions.collected("targets", own, _targets_of).items()))


def _targets_of(module: ModuleType) -> Iterator[tuple[str, type[Target]]]:
    for _, kind in inspect.getmembers(module, inspect.isclass):
        if issubclass(kind, Target) and kind.__module__ == module.__name__ and hasattr(kind, "scheme"):
            yield kind.scheme, kind
