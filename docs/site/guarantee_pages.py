"""A page for one guarantee: the promise, its source, the cases that decide it, and who is known to have broken it.

A hook of MkDocs: three hundred pages that say what the registries say are made with the site, and not kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mkdocs.structure.files import File, Files

from brokertrial.ci.reference_pages import table
from brokertrial.suites.case import Case, all_cases
from brokertrial.suites.guarantees import Guarantee, registry
from brokertrial.suites.proving.mutants import mutants
from brokertrial.suites.proving.proof_record import proof_of
from brokertrial.suites.proving.release_notes import defects, findings, linked
from brokertrial.suites.proving.track_record.bugs import bugs

LEVELS = {
    "must": "a failure fails the run",
    "should": "a failure is a warning",
    "may": "a failure is a note",
}


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages to those that lie in docs/."""
    for name, text in pages().items():
        files.append(File.generated(config, f"guarantees/{name}", content=text))
    return files


def pages() -> dict[str, str]:
    """Every page by its file name, and the list of all."""
    deciders: dict[str, list[Case]] = {}
    for case in all_cases():
        for name in case.guarantees:
            deciders.setdefault(name, []).append(case)
    made = {f"{row.id}.md": page(row, deciders.get(row.id, [])) for row in registry().values()}
    return made | {"index.md": _index(deciders)}


def page(row: Guarantee, cases: list[Case]) -> str:
    """The page of one."""
    return "\n".join(_lines(row, cases)) + "\n"


def _lines(row: Guarantee, cases: list[Case]) -> Iterator[str]:
    yield f"# {row.id}\n"
    yield f"> {row.statement}\n"
    yield f"**{row.level}**: {LEVELS[row.level]}. Area: {row.area}. Source: [{row.source}]({row.link}).\n"
    if row.conditions:
        yield f"Conditions: {'; '.join(row.conditions)}.\n"
    yield "## Cases\n"
    if cases:
        yield table(("case", "what must hold", "passed on", "seen to fail"), [_case(case) for case in cases]) + "\n"
        yield (
            "Test this alone: `brokertrial run --target ... " + " ".join(f"--select {c.id}" for c in cases[:3]) + "`\n"
        )
    else:
        yield "No case decides this guarantee yet: a green run says nothing about it.\n"
    violations = list(_violations(row, cases))
    yield "## Known violations\n"
    yield "\n".join(violations) if violations else "None that the suite knows of, in released brokers."
    if planted := [bug for bug in mutants().values() if row.id in bug.cases or row.id in bug.guarantee.split(", ")]:
        yield "\n## Planted bugs that break it\n"
        yield table(("bug", "what it does"), [(f"`reference?mutant={bug.id}`", bug.story) for bug in planted])


def _case(case: Case) -> tuple[str, str, str, str]:
    proof = proof_of(case)
    passed = "; ".join(proof.passed_on[-2:]) if proof else "not yet: it can only warn"
    return f"`{case.id}`", case.statement, passed, ", ".join(proof.fails_with) if proof else ""


def _violations(row: Guarantee, cases: list[Case]) -> Iterator[str]:
    """What released brokers got wrong."""
    names = {case.id for case in cases}
    for defect in defects():
        if defect.case in names:
            until = f" to {defect.until}" if defect.until else ", not mended yet"
            yield f"- Apache Kafka {defect.since}{until}: {defect.says} ({linked(defect.issue)}; `{defect.case}`)"
    for finding in findings():
        if row.id in finding.guarantees:
            until = f" to {finding.until}" if finding.until else ", not mended yet"
            yield f"- Apache Kafka {finding.since}{until}: {finding.says} ([{finding.page}](../{finding.page}))"
    for bug in bugs():
        if row.id in bug.guarantees:
            place = f"{bug.issue}; [track record](../track-record.md)"
            yield f"- {bug.has}, mended in {bug.mended}: {bug.suffers} ({place})"


def _index(deciders: dict[str, list[Case]]) -> str:
    lines = ["# Every guarantee, a page each\n"]
    for area in dict.fromkeys(row.area for row in registry().values()):
        rows = [row for row in registry().values() if row.area == area]
        cells = [(f"[{r.id}]({r.id}.md)", r.level, r.statement, str(len(deciders.get(r.id, [])) or "-")) for r in rows]
        lines += [f"## {area}\n", table(("id", "level", "promise", "cases"), cells), ""]
    return "\n".join(lines)
