"""Every guarantee: what Kafka promises, where it says so, and which cases decide it."""

from __future__ import annotations

from itertools import groupby

from brokertrial.ci.reference_pages import table
from brokertrial.suites.case import all_cases
from brokertrial.suites.guarantees import Guarantee, registry

TITLE = "Guarantees"
INTRODUCTION = "What Kafka promises, each with its source; a failed `must` fails a run, a failed `should` is a warning."


def page() -> str:
    """A table an area."""
    deciders: dict[str, list[str]] = {}
    for case in all_cases():
        for name in case.guarantees:
            deciders.setdefault(name, []).append(f"`{case.id}`")
    areas = groupby(registry().values(), key=lambda entry: entry.area)
    return "\n\n".join(f"## {area}\n\n{_table(list(rows), deciders)}" for area, rows in areas)


def _table(rows: list[Guarantee], deciders: dict[str, list[str]]) -> str:
    return table(
        ("id", "level", "promise", "source", "decided by"),
        [(row.id, row.level, row.statement, _source(row), ", ".join(deciders.get(row.id, ["-"]))) for row in rows],
    )


def _source(row: Guarantee) -> str:
    cited = f"[{row.source}]({row.link})"
    if not row.quote:
        return f"{cited} (by implementation)" if row.by_implementation else cited
    where = f" ([where]({row.quoted_from}))" if row.quoted_from else ""
    return f"{cited}: “{row.quote}”{where}"
