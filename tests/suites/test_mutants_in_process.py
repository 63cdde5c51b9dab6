"""Every wire case against the broker in this process: the healthy one passes, and each planted bug shows.

Trials and cases that need more than one node are for `make mutants`, which starts real processes; what takes most of
a minute is for `make slow`.
"""

from __future__ import annotations

import pytest

from brokertrial.suites.case import all_cases
from brokertrial.suites.closing_look.look import closing_look
from brokertrial.suites.proving import mutants
from tests.suites.in_process import UNTIL_AT_MOST_S, told, tried
from tests.suites.planted import named_too_broadly, shown_by

pytestmark = pytest.mark.long

ELSEWHERE = mutants.CLUSTER_NEEDS | {"zookeeper"}
ASKING = [case for case in all_cases() if case.kind == "wire" and not ELSEWHERE.intersection(case.needs)]
SHOWN = shown_by(ASKING)
EPOCHS_USED_UP = {
    "transactions/epochs-used-up",
    "transactions/expires-in-the-last-epoch",
    "transactions/used-up-before-a-restart",
}
"""They use up all 32,767 epochs of a producer."""
LONG = EPOCHS_USED_UP | {
    "commits/ended-while-their-log-is-read",
    "commits/expire-after-a-long-log-was-read",
    "compaction/more-keys-than-fit-into-memory",
    "transactions/in-force-when-complete",
}
"""Those that need a log too long to be read at once, or much at one time, take ten seconds or more."""


def test_there_are_enough_of_them_to_mean_something():
    assert len({mutant.id for _, _, mutant in SHOWN}) >= 30
    assert len(ASKING) >= 150


def marks(case):
    return [pytest.mark.slow] if case.id in LONG else []


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id, marks=marks(case)) for case in ASKING])
def test_the_healthy_broker_passes_and_all_is_well_afterwards(case, broker_data):
    outcome = tried(case, broker_data, look=closing_look, until_at_most_s=UNTIL_AT_MOST_S)
    assert outcome.verdict in ("pass", "not applicable"), told(outcome)


@pytest.mark.parametrize(
    ("word", "case", "mutant"),
    [pytest.param(word, case, bug, id=f"{word}-{case.id}", marks=marks(case)) for word, case, bug in SHOWN],
)
def test_a_planted_bug_shows_in_a_case_that_it_names(word, case, mutant, broker_data):
    outcome = tried(case, broker_data, word, until_at_most_s=UNTIL_AT_MOST_S)
    assert mutants.known_by(mutant, outcome), told(outcome)
    assert not named_too_broadly(case, outcome)
