"""The bundled broker answers random sequences of requests as Apache Kafka does; thousands more: `make differential`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from brokertrial.suites.targets import open_target
from tests.differential.__main__ import HERE, JUDGE, common, one, unlisted

pytestmark = pytest.mark.kafka
SEEDS = range(1, 41)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    work: Path = tmp_path_factory.mktemp("differential")
    with open_target(JUDGE, work / "judge") as judge, open_target(HERE, work / "here") as here:
        yield judge.bootstrap, here.bootstrap


def test_forty_sequences_are_answered_alike(both: tuple[str, str]) -> None:
    ranges = common(*both)
    outcomes = [one(seed, *both, ranges) for seed in SEEDS]
    asked = sum(outcome.asked.total() for outcome in outcomes)

    assert unlisted([outcome.difference for outcome in outcomes if outcome.difference is not None]) == []
    assert 0.4 < sum(outcome.valid for outcome in outcomes) / asked < 0.7
