"""Which cases run: by name, by profile, within a budget, the quick ones first. What is left out is listed with why."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from fnmatch import fnmatchcase

from brokertrial.suggestion import nearest
from brokertrial.suites.case import Case
from brokertrial.suites.running.bad_options import BadOptions

PROFILES = ("smoke", "full", "deep")


class UnknownSelection(BadOptions):
    """A pattern that no case matches; names the nearest ones."""


def select(
    cases: Sequence[Case], wanted: Sequence[str], unwanted: Sequence[str], profile: str, extra_names: Sequence[str] = ()
) -> tuple[list[Case], list[tuple[Case, str]]]:
    """The cases to run and those left out. `extra_names` are names that are valid though no file declares them."""
    must_match((*wanted, *unwanted), [case.id for case in cases] + list(extra_names))
    taken: list[Case] = []
    left: list[tuple[Case, str]] = []
    for case in cases:
        if any(fnmatchcase(case.id, pattern) for pattern in unwanted):
            left.append((case, "deselected"))
        elif wanted and not any(fnmatchcase(case.id, pattern.partition("@")[0]) for pattern in wanted):
            left.append((case, "not selected"))
        elif not wanted and profile == "smoke" and not case.smoke:
            left.append((case, "not in the smoke profile"))
        else:
            taken.append(case)
    return taken, left


def quick_first(cases: Sequence[Case], estimate: Callable[[Case], float]) -> list[Case]:
    """Wire cases as they stood, then trials by the time that they take: a run shows most of its verdicts early."""
    return sorted(cases, key=lambda case: estimate(case) if case.kind == "trial" else -1.0)


def within_budget(
    cases: Sequence[Case], estimate: Callable[[Case], float], budget_s: float | None, first: Collection[str] = ()
) -> tuple[list[Case], list[tuple[Case, str]]]:
    """The cases that fit into the budget, in their order; `first` and the smoke profile are served before others."""
    if budget_s is None:
        return list(cases), []
    left_s = budget_s
    fitting: set[str] = set()
    for case in sorted(cases, key=lambda entry: (entry.id not in first, not entry.smoke)):
        if estimate(case) <= left_s:
            left_s -= estimate(case)
            fitting.add(case.id)
    why = f"does not fit into the budget of {budget_s / 60:g} min"
    return [case for case in cases if case.id in fitting], [(case, why) for case in cases if case.id not in fitting]


def must_match(patterns: Iterable[str], names: Sequence[str]) -> None:
    """Raises UnknownSelection for the first pattern that matches none of the names."""
    for pattern in (pattern.partition("@")[0] for pattern in patterns):
        if not any(fnmatchcase(name, pattern) for name in names):
            hint = nearest(pattern, names) or "`brokertrial cases` lists them."
            raise UnknownSelection(f"There is no case `{pattern}`.", hint)
