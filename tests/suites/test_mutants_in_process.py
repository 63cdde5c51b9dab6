"""Every wire case against the broker in this process: the healthy one passes, and each planted bug shows.

Trials and cases that need more than one node are for `make mutants`, which starts real processes.
"""

from __future__ import annotations

import pytest

from brokertrial.suites.case import all_cases
from brokertrial.suites.closing_look.look import closing_look
from brokertrial.suites.proving import mutants
from tests.suites.in_process import told, tried
from tests.suites.planted import shown_by

ELSEWHERE = mutants.CLUSTER_NEEDS | {"zookeeper"}
ASKING = [case for case in all_cases() if case.kind == "wire" and not ELSEWHERE.intersection(case.needs)]
SHOWN = shown_by(ASKING)


def test_there_are_enough_of_them_to_mean_something():
    assert len({mutant.id for _, _, mutant in SHOWN}) >= 30
    assert len(ASKING) >= 150


@pytest.mark.parametrize("case", ASKING, ids=lambda case: case.id)
def test_the_healthy_broker_passes_and_all_is_well_afterwards(case, tmp_path):
    outcome = tried(case, tmp_path, look=closing_look)
    assert outcome.verdict in ("pass", "not applicable"), told(outcome)


@pytest.mark.parametrize(("word", "case", "mutant"), SHOWN, ids=[f"{word}-{case.id}" for word, case, _ in SHOWN])
def test_a_planted_bug_shows_in_a_case_that_it_names(word, case, mutant, tmp_path):
    outcome = tried(case, tmp_path, word)
    assert mutants.known_by(mutant, outcome), told(outcome)
