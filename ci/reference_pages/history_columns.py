"""Every table and column of a history."""

from __future__ import annotations

import re

import msgspec

from brokertrial.ci.reference_pages import table
from brokertrial.histories import rows

TITLE = "Columns of a history"
INTRODUCTION = (
    "One section a table, as `histories/rows.py` declares its rows; "
    "[history.md](../history.md) says what a recorder must write."
)


def page() -> str:
    """A section a table, in the order of histories/rows.py."""
    return "\n\n".join(_section(name, kind) for name, kind in rows.TABLES.items())


def _section(name: str, kind: type[msgspec.Struct]) -> str:
    columns = [
        (
            f"`{field.name}`",
            _type(field.type),
            "" if field.required else "may be null or absent" if _nullable(field.type) else "has a default",
        )
        for field in msgspec.structs.fields(kind)
    ]
    return f"## {name}\n\n{kind.__doc__}\n\n{table(('column', 'type', ''), columns)}"


def _nullable(annotation: object) -> bool:
    return "None" in str(annotation)


def _type(annotation: object) -> str:
    text = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    return re.sub(r" \| None$", "", text)
