"""Targets: brokers on trial. One file a target; a string such as `kafka:4.4.0?nodes=3` opens it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path

from brokertrial.suites.targets.address import Address, nearest
from brokertrial.suites.targets.base import (
    ALLOWANCES,
    CAPABILITIES,
    FEATURES,
    NodeLogLine,
    Target,
    TargetNotAvailable,
    TargetNotBuilt,
    TargetNotReady,
    TargetProblem,
    UnknownTarget,
)

__all__ = [
    "ALLOWANCES",
    "CAPABILITIES",
    "FEATURES",
    "NodeLogLine",
    "Target",
    "TargetNotAvailable",
    "TargetNotBuilt",
    "TargetNotReady",
    "TargetProblem",
    "UnknownTarget",
    "known_targets",
    "open_target",
]

# Written down in the design, named here so that asking for one is answered with more than "unknown".
_LATER = {"image": "`image:` (a broker in a container) is not built yet."}


def open_target(text: str, workdir: Path) -> Target:
    """The target that a string names, not started yet. Raises a TargetProblem with one clear sentence."""
    try:
        address = Address.parse(text)
    except ValueError as error:
        raise UnknownTarget(f"{text}: {error}.") from error
    known = known_targets()
    if address.scheme in _LATER:
        raise TargetNotBuilt(_LATER[address.scheme])
    if (kind := known.get(address.scheme)) is None:
        raise UnknownTarget(f"`{address.scheme}` is no target.", hint=nearest(address.scheme, known))
    for option in address.options:
        if option not in kind.options:
            raise UnknownTarget(f"{text}: {kind.scheme} has no option `{option}`.", hint=nearest(option, kind.options))
    return kind(address, workdir)


def known_targets() -> dict[str, type[Target]]:
    """Every target by its scheme: the subclasses of Target in the files of this folder."""
    found: dict[str, type[Target]] = {}
    for module in pkgutil.iter_modules(__path__):
        if module.ispkg or module.name.startswith("_"):
            continue
        content = importlib.import_module(f"{__name__}.{module.name}")
        for _, kind in inspect.getmembers(content, inspect.isclass):
            if issubclass(kind, Target) and kind.__module__ == content.__name__ and hasattr(kind, "scheme"):
                found[kind.scheme] = kind
    return dict(sorted(found.items()))
