"""Every reason kind that a verdict can have is said in words."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from brokertrial.suites.reasons import LABELS, label

ROOT = Path(__file__).parents[2]
MADE_BY = ("Reason", "inconclusive", "not_applicable", "failed", "NotApplicable", "Unclear")


def kinds() -> Iterator[str]:
    """The kinds that stand in the code, where a reason is made of them."""
    for path in sorted((ROOT / "suites").rglob("*.py")):
        if "cases" in path.parts:
            continue  # they name a sentence first
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MADE_BY:
                first = node.args[0] if node.args else None
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    yield first.value


def test_every_kind_is_said_in_words() -> None:
    found = set(kinds())
    assert len(found) > 15, "the search finds them"
    assert found - LABELS.keys() == set()


def test_a_kind_without_words_is_shown_as_it_is() -> None:
    assert label("no-hit") == "fault never triggered" and label("never-heard-of") == "never-heard-of"
