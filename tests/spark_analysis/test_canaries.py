"""The canaries: nearly every check finds something in them, and one that finds something else is found out."""

import pytest

pytest.importorskip("pyspark", reason="pip install 'brokertrial[spark]' to judge on Spark")

from msgspec.structs import replace

from checkers.check import all_checks
from checkers.judge import Judgement
from spark_analysis.canaries import canaries, judged, proof

MEASURED = {"longest-gap"}
"""Checks that accuse nobody."""


@pytest.fixture(scope="module")
def names():
    return [name for name, check in all_checks().items() if check.default]


@pytest.fixture(scope="module")
def found(names):
    return judged(canaries(), names)


def test_what_is_found_as_expected_is_proof(found):
    told = proof(found)

    assert told.wrong == ()
    assert len(told.proven) > 30, "choose new canaries: python bench/canaries.py"
    assert {"lost-write", "duplicate", "inconsistent-offsets", "phantom", "nonmonotonic-poll"} <= set(told.proven)
    assert not MEASURED & set(told.proven)


def test_a_check_that_misses_one_is_found_out(found):
    nothing = [Judgement() for _ in canaries()]
    fewer = [replace(each, anomalies=each.anomalies[1:]) for each in found["duplicate"]]

    assert proof({**found, "lost-write": nothing, "duplicate": fewer}).wrong == ("duplicate", "lost-write")
