"""The kinds of fault, one file each, found by itself. Cases import a constructor from the file of its name:

from brokertrial.faults.kinds.drop_response import drop_response
"""

import importlib
import pkgutil
from functools import cache
from types import ModuleType

import msgspec

from brokertrial import extensions
from brokertrial.faults.kind import MessageFault, NetworkFault, ProcessFault
from brokertrial.faults.schedule import BadSchedule, Schedule, Window
from brokertrial.faults.triggers import AT_HEAL

Fault = MessageFault | ProcessFault | NetworkFault


@cache
def all_kinds() -> dict[str, type[Fault]]:
    """Every kind by its name, from every file of this folder, and what others contribute."""
    return extensions.collected("faults", dict(kind for module in _MODULES for kind in _kinds_of(module)), _kinds_of)


def _kinds_of(module: ModuleType) -> list[tuple[str, type[Fault]]]:
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and kind.__module__ == module.__name__]
    return [(k.kind, k) for k in kinds if issubclass(k, Fault) and hasattr(k, "kind")]


def kind_of(name: str) -> type[Fault]:
    """The class of a kind; BadSchedule lists the kinds when there is none of that name."""
    try:
        return all_kinds()[name]
    except KeyError:
        raise BadSchedule(f"no kind of fault is called {name!r}; there are {', '.join(sorted(all_kinds()))}.") from None


def fault_of(window: Window) -> Fault:
    """The fault that a window describes, its parameters checked."""
    try:
        return msgspec.convert(window.params, kind_of(window.kind))
    except msgspec.ValidationError as problem:
        raise BadSchedule(f"fault {window.id!r}: {window.kind} {problem}.") from problem


def window_text(window: Window) -> str:
    """One line for people: `at op 200: drop 1 Produce response from leader(t,0) after 6`."""
    end = "" if window.end == AT_HEAL else f", until {window.end.words().removeprefix('at ')}"
    return f"{window.begin.words()}: {kind_of(window.kind).words(window)}{end}"


def schedule_text(schedule: Schedule) -> str:
    """For people, one window a line, each with its id."""
    return "\n".join(f"{window.id}  {window_text(window)}" for window in schedule)


_MODULES = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
# `from brokertrial.faults.kinds import kill` gives the constructor as well; a type checker does not see that.
for _module in _MODULES:
    _name = _module.__name__.rpartition(".")[2]
    globals()[_name] = getattr(_module, _name)
