"""Every case: what it states, which guarantees it decides, what it needs."""

from __future__ import annotations

from itertools import groupby

from brokertrial.ci.reference_pages import table
from brokertrial.suites.case import Case, all_cases

TITLE = "Cases"
INTRODUCTION = (
    "What `brokertrial run` tries, by area; `--select AREA/NAME` takes some, `smoke` marks the small profile."
)


def page() -> str:
    """A table an area."""
    areas = groupby(sorted(all_cases(), key=lambda case: case.id), key=lambda case: case.id.partition("/")[0])
    return "\n\n".join(f"## {area}\n\n{_table(list(cases))}" for area, cases in areas)


def _table(cases: list[Case]) -> str:
    rows = [
        (f"`{case.id}`", case.level, ", ".join(case.guarantees), case.statement, ", ".join(_conditions(case)))
        for case in cases
    ]
    return table(("case", "level", "guarantees", "statement", "conditions"), rows)


def _conditions(case: Case) -> list[str]:
    words = ["smoke"] if case.smoke else []
    words += [case.kind, *case.needs]
    words += [f"{api} ≥ {version}" for api, version in case.apis.items()]
    words += [f"{feature} ≥ {level}" for feature, level in case.features.items()]
    return [*words, f"since {case.since}"] if case.since else words
