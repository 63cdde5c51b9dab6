"""Wire cases that need several nodes against a cluster in this process: the healthy one passes, planted bugs show."""

from __future__ import annotations

import pytest

from brokertrial.suites.case import all_cases
from brokertrial.suites.closing_look.look import closing_look
from brokertrial.suites.proving import mutants
from tests.suites.in_process import UNTIL_AT_MOST_S, told
from tests.suites.in_process_cluster import tried_in_cluster
from tests.suites.planted import named_too_broadly, shown_by

pytestmark = pytest.mark.long

ASKING = [
    case
    for case in all_cases()
    if case.kind == "wire" and mutants.CLUSTER_NEEDS.intersection(case.needs) and "zookeeper" not in case.needs
]
SHOWN = shown_by(ASKING)


def test_there_are_enough_of_them_to_mean_something():
    assert len({mutant.id for _, _, mutant in SHOWN}) >= 20
    assert len(ASKING) >= 20


@pytest.mark.parametrize("case", ASKING, ids=lambda case: case.id)
def test_the_healthy_cluster_passes_and_all_is_well_afterwards(case, broker_data):
    outcome = tried_in_cluster(case, broker_data, look=closing_look, until_at_most_s=UNTIL_AT_MOST_S)
    assert outcome.verdict in ("pass", "not applicable"), told(outcome)


@pytest.mark.parametrize(("word", "case", "mutant"), SHOWN, ids=[f"{word}-{case.id}" for word, case, _ in SHOWN])
def test_a_planted_bug_shows_in_a_case_that_needs_several_nodes(word, case, mutant, broker_data):
    outcome = tried_in_cluster(case, broker_data, word, until_at_most_s=UNTIL_AT_MOST_S)
    assert mutants.known_by(mutant, outcome), told(outcome)
    assert not named_too_broadly(case, outcome)
