"""Whether columns may be compared at all: what differs between runs besides the target, said in sight."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from brokertrial.ci.comparison.column import Column

Fact = Callable[[Column], str]
INTERRUPTED = "interrupted"
MANY = 4
"""Names that a reader takes in."""


@dataclass(frozen=True)
class Unlike:
    """Something in which the runs differ: the values, each with the columns that have it; and what that costs."""

    what: str
    values: tuple[tuple[str, tuple[str, ...]], ...]
    cost: str
    grave: bool = True

    @property
    def shown(self) -> list[tuple[str, str]]:
        """The values, each with who has it; where many have one and the others are named, by their number."""
        most = max((names for _, names in self.values), key=len)
        by_number = len(self.values) > 1 and len(most) > MANY
        return [
            (value, f"the other {len(names)}" if by_number and names is most else " · ".join(names))
            for value, names in self.values
        ]


FACTS: tuple[tuple[str, Fact, str, bool], ...] = (
    (
        "suite version",
        lambda column: column.suite_version,
        "a case may have changed between the two: a difference may be the suite's and not the broker's",
        True,
    ),
    (
        "profile",
        lambda column: column.run.profile,
        "the runs do not ask the same cases, nor for as long",
        True,
    ),
    (
        "situations",
        lambda column: ", ".join(column.situations) or "none",
        "the cases were not met in the same way",
        True,
    ),
    (
        "seed",
        lambda column: str(column.run.seed),
        "the same cases with other draws: what one seed shows, another may miss",
        True,
    ),
    (
        "cases chosen",
        lambda column: _set_name(asked(column)),
        "what only some of the runs asked is marked as untried in the others",
        True,
    ),
    (
        "nodes",
        lambda column: "not stated" if column.nodes is None else str(column.nodes),
        "one node replicates nothing: what a cluster has to keep is not asked of it",
        True,
    ),
    (
        "machine",
        lambda column: ", ".join(column.host.get(name, "?") for name in ("system", "machine", "cores", "memory")),
        "verdicts can be compared, times cannot",
        False,
    ),
    (
        "how the run ended",
        lambda column: INTERRUPTED if column.end.interrupted else "complete",
        "cases are missing, and stand as untried",
        True,
    ),
)


def unlike(columns: Sequence[Column]) -> list[Unlike]:
    """What differs, the grave first; empty where the columns differ in their targets alone."""
    found = [Unlike(what, _values(columns, fact), cost, grave) for what, fact, cost, grave in FACTS]
    told = [each for each in found if len(each.values) > 1 or each.values[0][0] == INTERRUPTED]
    return sorted(told, key=lambda each: not each.grave)


def asked(column: Column) -> frozenset[str]:
    """The cases that were chosen for a run, whatever came of them."""
    return frozenset(info.case for info in column.run.cases)


def _set_name(cases: frozenset[str]) -> str:
    """`340 cases (a1b2)`: two sets of one size are told apart."""
    digest = hashlib.sha256(" ".join(sorted(cases)).encode()).hexdigest()
    return f"{len(cases)} case{'s' * (len(cases) != 1)} ({digest[:4]})"


def _values(columns: Sequence[Column], fact: Fact) -> tuple[tuple[str, tuple[str, ...]], ...]:
    names: dict[str, list[str]] = {}
    for column in columns:
        names.setdefault(fact(column), []).append(column.name)
    return tuple((value, tuple(some)) for value, some in names.items())
