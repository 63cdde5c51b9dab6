"""Who makes requests: one function a kind of request; every module in this folder is found by itself."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass

from tests.differential.step import Step
from tests.differential.world import World

Make = Callable[[World], Step | None]


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes requests of one API, so often compared with others; None when there is nothing to say."""

    api: str
    weight: float
    make: Make


_MAKERS: list[Maker] = []


def makes(api: str, weight: float = 1.0) -> Callable[[Make], Make]:
    """Marks a function as a maker of requests."""

    def mark(function: Make) -> Make:
        _MAKERS.append(Maker(api, weight, function))
        return function

    return mark


def makers() -> list[Maker]:
    """All of them, in an order that does not depend on the file system."""
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda found: found.name):
        importlib.import_module(f"{__name__}.{module.name}")
    return list(_MAKERS)
