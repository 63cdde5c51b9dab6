"""Every relation that the checks share."""

from __future__ import annotations

from brokertrial.checkers import relations
from brokertrial.ci.reference_pages import table

TITLE = "Relations"
INTRODUCTION = "What the SQL of a check may ask, besides the tables of the history; the same in DuckDB and on Spark."


def page() -> str:
    """The base tables with their renamed columns, then the derived relations."""
    renamed = table(
        ("column of a history", "name in SQL"), [(f"`{old}`", f"`{new}`") for old, new in relations.RENAMED.items()]
    )
    derived = table(
        ("relation", "reads the relations"),
        [
            (f"`{name}`", ", ".join(f"`{other}`" for other in _read_by(name)) or "-")
            for name in sorted(relations.RELATIONS)
        ],
    )
    bases = ", ".join(f"`{name}`" for name in relations.BASES)
    return f"Base tables: {bases}.\n\n{renamed}\n\n## Derived\n\n{derived}"


def _read_by(name: str) -> list[str]:
    return [other for other in relations.named_in(relations.RELATIONS[name].query) if other != name]
