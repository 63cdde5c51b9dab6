"""The commands of the pages: what they select is there, and the case that a newcomer writes first is one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from brokertrial.suites.case import Case, all_cases, by_id

ROOT = Path(__file__).parents[2]
OTHERS = {"docs/extending.md"}
"""Their ids are those of cases that somebody else would have."""
PAGES = ("README.md", *(f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md"))))
SELECTED = re.compile(r"--select '?([a-z]+/[a-z0-9*-]+)'?(?= |$|`|')", re.MULTILINE)


def selected(page: str) -> Iterator[str]:
    """The ids and patterns that a page selects, but those that stand for any."""
    found = SELECTED.findall((ROOT / page).read_text(encoding="utf-8"))
    return (pattern for pattern in found if pattern != "area/name")


def first_case() -> Case:
    """The case that is written on the page about writing one."""
    text = (ROOT / "docs/writing-a-case.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert found is not None
    module: dict[str, object] = {"__name__": "mine"}
    exec(compile(found[1], "writing-a-case.md", "exec"), module)
    (case,) = (value.case for value in module.values() if isinstance(getattr(value, "case", None), Case))
    assert isinstance(case, Case)
    return case


@pytest.mark.parametrize("page", [page for page in PAGES if page not in OTHERS])
def test_what_a_page_selects_is_there(page: str) -> None:
    names = [*(case.id for case in all_cases()), first_case().id if page == "docs/writing-a-case.md" else ""]
    assert [pattern for pattern in selected(page) if not any(fnmatchcase(name, pattern) for name in names)] == []


def test_the_first_case_that_one_writes_has_a_free_id_and_all_that_its_commands_need() -> None:
    case = first_case()
    assert case.id not in by_id() and case.promises and case.tampered_responses
    page = (ROOT / "docs/writing-a-case.md").read_text(encoding="utf-8")
    assert f"'reference?mutant={case.bugs[0]}' --select {case.id} " in page
