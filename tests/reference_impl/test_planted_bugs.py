"""The registry of planted bugs: data and code name the same ones, each in one place."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from brokertrial import reference_impl
from brokertrial.reference_impl import bugs

CODE = [p for p in Path(next(iter(reference_impl.__path__))).rglob("*.py") if p.name != "bugs.py"]


def test_every_bug_is_asked_for_on_exactly_one_line() -> None:
    asked = Counter(bug for path in CODE for bug in re.findall(r'bugs\.on\("(\w+)"\)', path.read_text("utf-8")))
    assert set(asked) == set(bugs.registry())
    assert [bug for bug, times in asked.items() if times > 1] == []


def test_every_bug_says_what_it_does_and_who_must_catch_it() -> None:
    for bug in bugs.registry().values():
        assert bug.story.endswith(".") or bug.story[0].isupper()
        assert bug.guarantee and bug.cases and bug.every >= 1


def test_a_planted_bug_bites_at_every_kth_occasion() -> None:
    assert not bugs.on("M07b")
    bugs.plant("M07b:every=3")
    assert [bugs.on("M07b") for _ in range(6)] == [False, False, True, False, False, True]
    assert not bugs.on("M09")


@pytest.mark.parametrize("wrong", ["M99", "M05:every=0", "M05:sometimes", "M05:p=3"])
def test_an_unknown_bug_or_option_is_refused(wrong: str) -> None:
    with pytest.raises(bugs.UnknownBug):
        bugs.plant(wrong)
