"""What makes requests: one function a kind, one file a family. The files of this folder are found by themselves."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from brokertrial.suites.explore.model import Model
from brokertrial.suites.explore.step import RequestStep

Make = Callable[[Model], RequestStep | None]


@dataclass(frozen=True, slots=True)
class RequestRule:
    """Makes requests of one API, so often compared with others; None when there is nothing to say."""

    family: str
    api: str
    weight: float
    make: Make


_RULES: list[RequestRule] = []


def rule(api: str, weight: float = 1.0) -> Callable[[Make], Make]:
    """Marks a function as one that makes requests."""

    def mark(function: Make) -> Make:
        _RULES.append(RequestRule(function.__module__.rsplit(".", 1)[-1], api, weight, function))
        return function

    return mark


@cache
def rules() -> tuple[RequestRule, ...]:
    """All of them, in an order that does not depend on the file system."""
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda found: found.name):
        importlib.import_module(f"{__name__}.{module.name}")
    return tuple(sorted(_RULES, key=lambda each: (each.family, each.make.__code__.co_firstlineno)))
