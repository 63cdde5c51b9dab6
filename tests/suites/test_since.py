"""A rule that came with a later Apache Kafka binds from that release on, and who says nothing is bound."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokertrial.suites.case import BadCase, Case, by_id, case
from brokertrial.suites.old_rules import SINCE
from brokertrial.suites.running.support import TargetSupport, unmet_need
from brokertrial.suites.since import Since
from brokertrial.suites.targets import open_target


def made(since: str) -> Case:
    @case("a/b", guarantee="prod-001", since=since)
    def function(wire):
        """It MUST hold."""

    return function.case


def offer(release: tuple[int, ...]) -> TargetSupport:
    return TargetSupport({}, {}, frozenset(), 1, release=release)


@pytest.mark.parametrize("release", [(3, 3), (3, 5), (3, 5, 2)])
def test_an_older_release_is_not_judged_by_it(release: tuple[int, ...]) -> None:
    reason = unmet_need(made("3.6 (KIP-890)"), offer(release))
    assert reason is not None and reason.kind == "came-later"
    said = ".".join(map(str, release))
    assert reason.sentence == f"Apache Kafka promises this since 3.6 (KIP-890); this is {said}"


@pytest.mark.parametrize("release", [(3, 6), (3, 6, 0), (3, 10), (4, 0, 1), ()])
def test_that_release_and_later_ones_are_and_who_does_not_say(release: tuple[int, ...]) -> None:
    assert unmet_need(made("3.6 (KIP-890)"), offer(release)) is None


def test_a_rule_without_it_binds_all() -> None:
    assert unmet_need(made(""), offer((3, 3))) is None


def test_rules_between_2_8_and_3_3_are_of_cases_that_are_there() -> None:
    named = [name for cases in SINCE.values() for name in cases]
    assert len(set(named)) == len(named) and set(named) <= by_id().keys()
    for since, cases in SINCE.items():
        assert (2, 8) < Since.parse(since).release <= (3, 3)
        assert all(by_id()[name].since == Since.parse(since) for name in cases)


@pytest.mark.parametrize("since", ["3.6", "3 (KIP-890)", "3.6 KIP-890", "KIP-890", "3.6 (issue 5)"])
def test_it_names_a_release_and_its_source(since: str) -> None:
    with pytest.raises(BadCase, match="since="):
        made(since)


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("kafka:3.5.2", (3, 5, 2)),
        ("kafka:4.0", (4, 0)),
        ("reference?emulate=3.9", (3, 9)),
        ("reference", ()),
        ("bootstrap:127.0.0.1:9092", ()),
    ],
)
def test_a_target_says_which_release_it_is(text: str, release: tuple[int, ...], tmp_path: Path) -> None:
    assert open_target(text, tmp_path).release_number == release
