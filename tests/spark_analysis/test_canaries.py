"""The canaries: every check finds something in them, and one that finds something else is found out."""

import pytest

pytest.importorskip("pyspark", reason="pip install 'brokertrial[spark]' to judge on Spark")

from msgspec.structs import replace

from brokertrial.checkers.check import all_checks
from brokertrial.checkers.judge import Judgement
from brokertrial.spark_analysis.canaries import canaries, judged, proof


@pytest.fixture(scope="module")
def names():
    return [name for name, check in all_checks().items() if check.default]


@pytest.fixture(scope="module")
def found(names):
    return judged(canaries(), names)


def test_what_is_found_as_expected_is_proof(found):
    told = proof(found)

    assert told.wrong == ()
    assert told.unproven == (), "choose new canaries: python -m bench.canaries"
    held = {name for name, judgements in found.items() if any(each.anomalies for each in judgements)}
    assert set(found) - held == {"dependency-cycle", "longest-gap"}, "found, but held against nobody"


def test_a_check_that_misses_one_is_found_out(found):
    nothing = [Judgement() for _ in canaries()]
    fewer = [replace(each, anomalies=each.anomalies[1:]) for each in found["duplicate"]]
    milder = [replace(each, permitted=each.permitted[1:]) for each in found["dependency-cycle"]]
    told = proof({**found, "lost-write": nothing, "duplicate": fewer, "dependency-cycle": milder})

    assert told.wrong == ("dependency-cycle", "duplicate", "lost-write")
