"""docs/reference/ says what the code says."""

from __future__ import annotations

import pytest

from brokertrial.ci.reference_pages import names, page, table
from brokertrial.ci.reference_pages.__main__ import FOLDER


@pytest.mark.parametrize("name", names())
def test_a_page_is_as_the_code_is(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == page(name), "run `make reference`"


def test_no_page_is_left_over() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(names())


def test_a_cell_cannot_break_its_table() -> None:
    assert table(("a",), [("x | y\nz",)]).splitlines()[-1] == "| x \\| y z |"
