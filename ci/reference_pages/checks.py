"""Every check: which anomaly it finds in a history, and what it needs for that."""

from __future__ import annotations

from brokertrial.checkers.check import all_checks
from brokertrial.ci.reference_pages import first_paragraph, table

TITLE = "Checks"
INTRODUCTION = "The checks of every history. A check whose needs the history does not meet is not applicable."


def page() -> str:
    """One table: the anomaly, its definition, its guarantee, the tables and columns that it needs."""
    rows = [
        (f"`{check.name}`", first_paragraph(check.definition), check.guarantee, ", ".join(check.needs) or "-")
        for check in all_checks().values()
        if not check.measured
    ]
    figures = [
        (f"`{check.name}`", first_paragraph(check.definition)) for check in all_checks().values() if check.measured
    ]
    return (
        table(("anomaly", "definition", "guarantee", "needs"), rows)
        + "\n\n## Figures, reported with every history\n\n"
        + table(("figure", "definition"), figures)
    )
