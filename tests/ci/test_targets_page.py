"""docs/reference/targets.md speaks of every target, and of no machine."""

from __future__ import annotations

import pytest

from brokertrial.ci.reference_pages import targets as page
from brokertrial.suites.case import own_cases
from brokertrial.suites.proving import prove
from brokertrial.suites.targets import known_targets
from brokertrial.suites.targets.network import abilities


def test_every_kind_of_target_has_a_row() -> None:
    names = (*page.ONE_NODE, *page.THREE_NODES, *page.OTHERS)
    assert {name.partition(":")[0].partition("?")[0] for name in names} == set(known_targets())


def test_each_kafka_that_cases_are_proven_on_has_a_row() -> None:
    names = {*page.ONE_NODE, *page.THREE_NODES, *page.OTHERS}
    assert {name for name in names if name.startswith("kafka:")} == {*prove.TARGETS} - {prove.REFERENCE}
    assert page.EVERYTHING == prove.EVERYTHING


def test_the_machine_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked() -> None:
        raise AssertionError("the page would differ from machine to machine")

    monkeypatch.setattr(abilities, "tried", asked)
    monkeypatch.setenv("PATH", "")
    assert page.page() == page.page()


def test_every_case_decides_something_somewhere() -> None:
    kinds = [page._kind(name, 3) for name in page.THREE_NODES]
    assert {case.id for kind in kinds for case in kind.decided} == {case.id for case in own_cases()}
