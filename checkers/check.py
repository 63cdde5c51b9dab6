"""What a check is: a module in checkers/checks/ that says what it needs and asks its question in SQL.

    NAME, GUARANTEE, STRENGTH   the anomaly's name, the catalogue row it breaks, how strong a promise that is
    NEEDS                       columns without which the question cannot be asked ("records.prev_offset")
    SUBJECT, OTHERWISE          a query that returns a row when there is something to judge, and what to say when not
    GAPS, WITHHELD              (optional) a query that returns a row where a pass must be withheld, and why
    QUERY                       one row an anomaly: ROW below, in any order; `judged` 0 where Kafka promises no better
    SENTENCE                    what is shown; {names} are columns of the row, [...] is left out where one in it is null
    DEFAULT                     (optional) False: asked only when named
    OBSERVES, SHOWING           the calls that it judges, by kind ("membership": ownership seen on the wire), and what
                                their answers must have shown: each is an observation
    DECIDES                     (optional) the guarantees that it decides in a trial when it had enough to judge during
                                the faults; without it, that of GUARANTEE
    STANDS_ALONE                (optional) True, or the names of the anomalies: the operations listed prove it, whatever
                                a client did of which the history has no record; a row may say it by `stands_alone`
    HARMS                       (optional) True: an acknowledged record was lost, altered, doubled or reordered beyond
                                what was promised, or an aborted one delivered: a failure whatever the case asked

A check that searches instead of selecting has PROJECTIONS (small tables made by SQL) and `find(projections)` in place
of QUERY. Adding a check takes one new file, and one of tests beside it, found by its name: what the anomaly and its
near misses look like, the definition once more, and how to put one into a legal history (tests/checkers/evidence.py).
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any, cast

import pyarrow as pa

from brokertrial import extensions
from brokertrial.checkers import checks as package_of_checks
from brokertrial.checkers.anomaly import Anomaly, Attribution, Strength
from brokertrial.checkers.sentence import filled

ROW = ("topic", "partition", "group_id", "offset_a", "offset_b", "value_a", "value_b", "op_a", "op_b", "op_c")
"""Columns that an anomaly is made from; a query may leave out those that it has nothing for, and add others."""

LISTED = 100
"""Offsets or values of one anomaly that are listed."""

AnomalyRow = dict[str, Any]
FindRows = Callable[[Mapping[str, pa.Table]], Iterator[AnomalyRow]]


@dataclass(frozen=True)
class Observes:
    """Which calls of a history are observations of a check."""

    kinds: tuple[str, ...]
    showing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Check:
    """One check, read from its module."""

    name: str
    guarantee: str
    strength: Strength
    definition: str
    needs: tuple[str, ...]
    subject: str
    otherwise: str
    sentence: str
    query: str | None = None
    gaps: str | None = None
    withheld: str = ""
    projections: Mapping[str, str] = field(default_factory=dict)
    find: FindRows | None = None
    default: bool = True
    measured: bool = False
    """A figure that is told with every history, and is no anomaly."""
    observes: Observes | None = None
    decides: tuple[str, ...] = ()
    """The guarantees that it decides."""
    stands_alone: bool | tuple[str, ...] = False
    harms: bool = False

    def anomaly(self, row: AnomalyRow) -> Anomaly:
        """The row as an anomaly; a row may bring its own `name`, `sentence`, `attribution` and `stands_alone`."""
        sentence = row.get("sentence") or filled(self.sentence, row)
        name = row.get("name") or self.name.rpartition("/")[2]
        alone = name in self.stands_alone if isinstance(self.stands_alone, tuple) else self.stands_alone
        return Anomaly(
            name=name,
            guarantee=self.guarantee,
            topic=row.get("topic"),
            partition=row.get("partition"),
            group=row.get("group_id"),
            offsets=_listed(row, "offsets") or _present(row, "offset_a", "offset_b"),
            values=_listed(row, "listed_values") or _present(row, "value_a", "value_b"),
            operations=tuple(dict.fromkeys(_present(row, "op_a", "op_b", "op_c"))),
            sentence=sentence,
            strength=cast(Strength, row.get("strength") or self.strength),
            attribution=cast(Attribution, row.get("attribution") or "broker"),
            stands_alone=bool(row.get("stands_alone", alone)),
            harms=self.harms,
        )


def _listed(row: AnomalyRow, name: str) -> tuple[int, ...]:
    """Where two do not tell it all, a query names every offset or value, in any order."""
    return tuple(sorted(row.get(name) or ())[:LISTED])


def _present(row: AnomalyRow, *names: str) -> tuple[int, ...]:
    return tuple(row[name] for name in names if row.get(name) is not None)


@cache
def all_checks() -> Mapping[str, Check]:
    """Every check by name, in alphabetical order: those of checkers/checks/, then what others contribute."""
    return extensions.collected("checks", checks_in(package_of_checks), _contributed)


def checks_in(package: ModuleType) -> Mapping[str, Check]:
    """Every check of a folder by name, in alphabetical order."""
    found = [each.name for each in pkgutil.iter_modules(package.__path__)]
    checks = [_read(importlib.import_module(f"{package.__name__}.{name}")) for name in found]
    return {check.name: check for check in sorted(checks, key=lambda check: check.name)}


def _contributed(module: ModuleType) -> list[tuple[str, Check]]:
    return [(check.name, check) for check in ([_read(module)] if hasattr(module, "NAME") else [])]


def _read(module: ModuleType) -> Check:
    return Check(
        name=module.NAME,
        guarantee=module.GUARANTEE,
        strength=module.STRENGTH,
        definition=module.__doc__ or "",
        needs=tuple(module.NEEDS),
        subject=module.SUBJECT,
        otherwise=module.OTHERWISE,
        sentence=getattr(module, "SENTENCE", ""),
        query=getattr(module, "QUERY", None),
        gaps=getattr(module, "GAPS", None),
        withheld=getattr(module, "WITHHELD", ""),
        projections=getattr(module, "PROJECTIONS", {}),
        find=getattr(module, "find", None),
        default=getattr(module, "DEFAULT", True),
        measured=getattr(module, "MEASURED", False),
        observes=_observes(module),
        decides=tuple(getattr(module, "DECIDES", (module.GUARANTEE,))),
        stands_alone=getattr(module, "STANDS_ALONE", False),
        harms=getattr(module, "HARMS", False),
    )


def _observes(module: ModuleType) -> Observes | None:
    """None where a check says nothing of it: those of Jepsen judge histories that no trial of ours wrote."""
    kinds = getattr(module, "OBSERVES", None)
    return None if kinds is None else Observes(tuple(kinds), tuple(getattr(module, "SHOWING", ())))
