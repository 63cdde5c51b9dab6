"""A few planted bugs on trial in processes of their own, as `make mutants` tries them all; the table that it writes.

That every bug shows in a wire case that names it is tested in tests/suites/test_mutants_in_process.py, in milliseconds.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass

import pytest

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.case import own_cases
from brokertrial.suites.proving import mutants, mutation
from brokertrial.suites.result import Reason
from brokertrial.suites.running.estimates import healthy_s

SAMPLE, QUICK_S = 6, 1.0
LASTING = ("retention/", "compaction/", "groups/", "transactions/timeout")
"""Cases that wait for something that comes in seconds, or, of a bug, never."""


def quick(mutant: mutants.Mutant) -> bool:
    """Whether one short question shows it: no trial, nothing stopped, nothing waited for."""
    named = mutants.catchers(mutant.id)
    if mutant.shows != ("statement",) or not named:
        return False
    case = named[0][1]
    if case.kind != "wire" or case.needs or case.id.startswith(LASTING) or healthy_s(case, "full") > QUICK_S:
        return False
    return "eventually(" not in inspect.getsource(case.function)


def sample() -> list[str]:
    """So many of the quick ones, spread over all; the same ones every time."""
    able = sorted(mutant.id for mutant in mutants.mutants().values() if quick(mutant))
    return [able[number * len(able) // SAMPLE] for number in range(SAMPLE)]


def test_the_sample_is_as_large_as_it_says():
    assert len(set(sample())) == SAMPLE


@pytest.mark.usefixtures("looks_settle_soon")
@pytest.mark.parametrize("mutant", sample())
def test_a_planted_bug_shows_in_a_case_that_names_it(mutant):
    found = mutation.tried(mutant, seed=1)
    assert found.shown_by, found.instead


def test_the_healthy_broker_fails_none_of_the_same_cases():
    ids = [mutants.catchers(mutant)[0][1].id for mutant in sample()]
    assert mutation.clean(ids, seed=1) == []


@dataclass
class Result:
    """As much of a result as tells by what a case failed."""

    verdict: Verdict
    anomalies: tuple[Anomaly, ...] = ()
    reason: Reason | None = None


def known(shows, **result):
    mutant = mutants.Mutant("M1", "It loses.", "prod-001", shows=shows)
    return mutants.known_by(mutant, Result(**result))


def lost():
    told = {"offsets": (1,), "values": (1,), "operations": (1, 2), "sentence": "It is gone."}
    kinds = {"strength": "durability", "attribution": "broker"}
    return (Anomaly(name="lost-write", guarantee="prod-002", topic="t", partition=0, **told, **kinds),)


def test_only_what_a_bug_is_known_by_counts():
    assert known(("lost-write",), verdict=Verdict.FAIL, anomalies=lost()) == "lost-write"
    assert known(("duplicate",), verdict=Verdict.FAIL, anomalies=lost()) == ""
    assert known(("statement",), verdict=Verdict.FAIL, reason=Reason("statement", "It is 1, not 2.")) == "statement"
    assert known(("statement",), verdict=Verdict.FAIL, reason=Reason("died", "The broker is dead.")) == ""
    assert known(("statement",), verdict=Verdict.PASS) == ""
    assert known(("statement",), verdict=Verdict.INCONCLUSIVE, reason=Reason("statement", "?")) == ""


def test_that_a_case_catches_a_bug_is_said_once():
    """By the case (`detects`) or by the bug (`caught_by`), whichever was written later."""
    naming = {case.id: {word.partition(":")[0] for word in case.bugs} for case in own_cases()}
    twice = [
        (bug.id, case) for bug in mutants.mutants().values() for case in bug.caught_by if bug.id in naming.get(case, ())
    ]
    assert twice == []


def test_the_table_has_a_line_for_every_bug_with_its_cases():
    page = mutants.page({"offsets/by-time": ["M90"]})
    planted, _, absent = page.partition("Not planted")
    lines = [line for line in planted.splitlines() if line.startswith(tuple(f"| {bug} |" for bug in mutants.mutants()))]
    assert len(lines) == len(mutants.mutants())
    assert all(f"| {bug} |" in absent and bug not in mutants.mutants() for bug, *_ in mutants.ABSENT)
    cases = "offsets/by-time-out-of-order<br>offsets/asked-in-every-way"
    assert f"| statement | {cases} |" in next(line for line in lines if line.startswith("| M30a |"))
    assert "offsets/by-time" in next(line for line in lines if line.startswith("| M90 |"))
