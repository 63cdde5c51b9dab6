"""Cases about much: a failure of theirs accuses of what it breaks alone, and each of their guarantees can be broken."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from brokertrial.suites.case import Case, by_id, is_case, own_cases
from brokertrial.suites.closing_look.promises import of_its_own
from brokertrial.suites.guarantees import registry
from brokertrial.suites.proving.case_dependencies import ROOT, under
from brokertrial.suites.result import CaseResult
from tests.suites.in_process import told, tried
from tests.suites.planted import BROAD

LISTS = "GUARANTEES"
"""A constant of this name is what cases are about, and no check."""


@pytest.mark.parametrize(
    "case", [case for case in own_cases() if len(case.guarantees) >= BROAD], ids=lambda case: case.id
)
def test_each_guarantee_of_a_broad_case_is_named_where_it_is_checked(case: Case) -> None:
    """What nothing names is decided by no check: it leaves the list of the case, or a check says it (`breaks`)."""
    said = {name for file in under(case) if file.startswith("suites/cases/") for name in _named_in(ROOT / file)}
    missing = [name for name in case.guarantees if name not in said]
    assert not missing, f"{case.id} names {missing}, and no check of its files does"


@pytest.mark.parametrize(
    ("name", "bug", "broken"),
    [
        ("offsets/asked-in-every-way", "M30a", ("offs-002",)),
        ("produce/refused-in-every-version", "T03", ("txn-020",)),
        ("groups/whatever-comes-next", "M24a", ("grp-007",)),
    ],
)
def test_a_failure_of_a_broad_case_names_what_it_broke_alone(
    name: str, bug: str, broken: tuple[str, ...], tmp_path: Path
) -> None:
    case = by_id()[name]
    outcome = tried(case, tmp_path, bug)
    result = of_its_own(CaseResult.of(case, outcome))
    assert (result.guarantees, result.statement) == (broken, case.statement), told(outcome)


@cache
def _named_in(file: Path) -> frozenset[str]:
    """The guarantees that a file names outside of the declarations of cases."""
    module = ast.parse(file.read_text(encoding="utf-8"))
    known = registry()
    return frozenset(
        node.value
        for node in _checks(module)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in known
    )


def _checks(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Assign) and any(isinstance(to, ast.Name) and to.id == LISTS for to in child.targets):
            continue
        if isinstance(child, ast.FunctionDef) and is_case(child):
            child.decorator_list = []
        yield child
        yield from _checks(child)
