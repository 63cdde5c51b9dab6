"""The pages of docs/reference/, each made from the code that it describes: a new file here is a new page.

A page module says `TITLE`, `INTRODUCTION` (one sentence) and `page()`, the Markdown below them.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Sequence

NOTICE = "Generated from the code by `make reference`; a test compares it. Edit the code, not this page."


def names() -> list[str]:
    """The file name of every page, sorted."""
    found = (module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))
    return sorted(f"{name.replace('_', '-')}.md" for name in found)


def page(name: str) -> str:
    """The page of this file name, as it would be written now."""
    module = importlib.import_module(f"{__name__}.{name.removesuffix('.md').replace('-', '_')}")
    return f"# {module.TITLE}\n\n{module.INTRODUCTION}\n\n{NOTICE}\n\n{module.page().strip()}\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; a bar or a line break inside a cell is made harmless."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def first_paragraph(docstring: str | None) -> str:
    """The first paragraph of a docstring on one line."""
    return " ".join((docstring or "").strip().split("\n\n")[0].split())


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
