"""The sequential specification of an object, as a module in checkers/linearizability/search/models/.

    NAME                  the name that a question uses; porcupine's helper has a machine of the same name
    start(init)           the first state, hashable
    step(state, op)       the state that follows, or None when this answer is wrong in this state
    part(op)              (optional) which independent part of the object the operation is about

A model of your own need not be a module: hand a Model to `search`.
"""

import importlib
import pkgutil
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cache

from brokertrial.checkers.linearizability.search import models
from brokertrial.checkers.linearizability.search.question import Op, OperationFields

ModelState = Hashable


@dataclass(frozen=True, slots=True)
class Specification:
    """One specification. `step` is pure; a state is never None."""

    name: str
    start: Callable[[OperationFields], ModelState]
    step: Callable[[ModelState, Op], ModelState | None]
    part: Callable[[Op], Hashable] | None = None


class UnknownModel(ValueError):
    """A question names a model that does not exist."""


def model(name: str) -> Specification:
    """The model of this name; raises UnknownModel."""
    known = all_models()
    if name not in known:
        raise UnknownModel(f"there is no model {name!r}; there are {', '.join(known)}.")
    return known[name]


@cache
def all_models() -> Mapping[str, Specification]:
    """Every model by name, in alphabetical order."""
    names = (each.name for each in pkgutil.iter_modules(models.__path__))
    modules = [importlib.import_module(f"{models.__name__}.{name}") for name in names]
    found = [Specification(each.NAME, each.start, each.step, getattr(each, "part", None)) for each in modules]
    return {each.name: each for each in sorted(found, key=lambda each: each.name)}
