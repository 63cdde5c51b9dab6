"""The words of user-visible text: terms that no reader of a report knows may only become fewer, until none is left.

Looked at: templates and pages as they are; string constants of code, but docstrings and comments.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TERMS = re.compile(
    r"\b(told|tells?|nobody|whose doing|held against|bit(?= )|lies(?= (?:told|of))|strangers?|taken back|put to|"
    r"judge it again|not green|on trial|nothing better)\b",
    re.IGNORECASE,
)
CASE_ID = re.compile(r"\b[a-z]+/[a-z0-9-]+\b|`[^`]*`")
"""Ids keep their words for ever."""
SHOWN = ("checkers/checks", "checkers/jepsen")
"""Here the docstring of a module is its definition, which `explain` shows."""
GENERATED = (
    "docs/mutants.md",
    "docs/track-record.md",
    "docs/what-makes-each-case-fail.md",
    "docs/apache-kafka-releases.md",
    "docs/reference",
)
ALLOWED = {
    "ci/reports": 1,  # `nobody`, as a case calls a group
    "ci/commands": 0,
    "ci": 0,
    "faults": 0,
    "suites/trials": 0,
    "suites/running": 0,
    "checkers/checks": 0,
    "checkers/jepsen": 0,
    "docs": 0,
    "README.md": 0,
}


def texts(place: str) -> Iterator[tuple[Path, str]]:
    """The texts of a folder (of its own files alone), or of one file."""
    top = ROOT / place
    files = [top] if top.is_file() else sorted(path for path in top.rglob("*") if path.suffix in (".py", ".j2", ".md"))
    inner = [ROOT / page for page in GENERATED]
    inner += [ROOT / other for other in ALLOWED if other.startswith(f"{place}/")]
    for path in files:
        if any(path.is_relative_to(folder) for folder in inner):
            continue
        text = path.read_text(encoding="utf-8")
        yield from ((path, constant) for constant in (constants(text) if path.suffix == ".py" else [text]))
        if place in SHOWN:
            yield path, ast.get_docstring(ast.parse(text)) or ""


def constants(source: str) -> Iterator[str]:
    """String constants that are no docstring, and no text that documents the line above."""
    tree = ast.parse(source)
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.value


@pytest.mark.parametrize("place", ALLOWED)
def test_stilted_terms_become_fewer(place: str) -> None:
    found = [f"{path.relative_to(ROOT)}: {hit.group()}: ...{text[max(0, hit.start() - 40) : hit.end() + 30]!r}"
             for path, text in texts(place)
             for text in [CASE_ID.sub("ID", text)]
             for hit in TERMS.finditer(text)]  # fmt: skip
    assert len(found) <= ALLOWED[place], "\n".join(found)
    assert len(found) == ALLOWED[place], f"{len(found)} are left of {ALLOWED[place]}: lower the number"
