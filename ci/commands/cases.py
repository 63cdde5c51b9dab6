"""`brokertrial cases`: the cases as a table, and the guarantees that they cover."""

from __future__ import annotations

import textwrap

from brokertrial.extensions import origin
from brokertrial.suites.case import all_cases
from brokertrial.suites.guarantees import registry
from brokertrial.suites.running import claims


def names() -> list[str]:
    """Every name that a case may be called by, with the claims and the required areas: those are cases of no file."""
    return [case.id for case in all_cases()] + claims.names()


def list_page() -> str:
    """Every case: id, level, guarantees, what it needs, its statement, and where it comes from if it is not ours."""
    lines = []
    for case in all_cases():
        needs = f"   needs {', '.join(case.needs)}" if case.needs else ""
        lines.append(
            f"{case.id:<58} {case.level:<6} {', '.join(case.guarantees)}{'   smoke' if case.smoke else ''}{needs}"
        )
        lines.append(textwrap.fill(case.statement, 108, initial_indent="    ", subsequent_indent="    "))
        if place := origin("cases", case.id):
            lines.append(f"    from {place}")
    lines.append(f"{len(all_cases())} cases.")
    return "\n".join(lines)


def coverage_page() -> str:
    """By area: the guarantees that a case decides, with the cases, then those that none decides."""
    deciders: dict[str, list[str]] = {}
    for case in all_cases():
        for name in case.guarantees:
            deciders.setdefault(name, []).append(case.id)
    lines, covered = [], 0
    areas = list(dict.fromkeys(entry.area for entry in registry().values()))
    for area in areas:
        rows = [entry for entry in registry().values() if entry.area == area]
        done = [entry for entry in rows if entry.id in deciders]
        covered += len(done)
        lines.append(f"{area}: {len(done)} of {len(rows)}")
        lines += [f"  {entry.id:<10} {entry.level:<6} {', '.join(deciders[entry.id])}" for entry in done]
        missing = [entry for entry in rows if entry.id not in deciders]
        for entry in missing:
            lines.append(f"  {entry.id:<10} {entry.level:<6} -  {textwrap.shorten(entry.statement, 90)}")
    must = [entry for entry in registry().values() if entry.level == "must"]
    lines.append(
        f"{covered} of {len(registry())} guarantees are decided by a case; "
        f"of the {len(must)} `must`, {sum(entry.id in deciders for entry in must)} "
        f"({sum(entry.optional for entry in must)} of them bind only where a broker offers what they are about)."
    )
    return "\n".join(lines)
