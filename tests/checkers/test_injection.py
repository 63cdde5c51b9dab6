"""What is put into a legal history is found where it was put; without it nothing is (many: campaigns/injection.py)."""

import random

import pytest

from brokertrial.checkers.check import all_checks
from brokertrial.checkers.engines.duckdb_engine import DuckDBEngine
from tests.checkers.evidence import injections
from tests.checkers.legal_histories import Legal
from tests.checkers.wounded_tables import Base, asked, found, held, relations
from tests.checkers.wounds import Wound

OPERATIONS = 2_000
TIMES = 1


@pytest.fixture(scope="module")
def wounded():
    """Every anomaly, each in a legal history that is otherwise its own, and the legal ones: one query a check."""
    bases = [Base(Legal(seed, OPERATIONS)) for seed in range(3)]
    names = [name for name in injections() for _ in range(TIMES)]
    chosen = [bases[number % len(bases)] for number in range(len(names))]
    places = enumerate(zip(chosen, names, strict=True))
    wounds = [Wound(base.legal, random.Random(f"{name}/{number}")) for number, (base, name) in places]
    expected = [injections()[name](wound) for name, wound in zip(names, wounds, strict=True)]
    tables = relations([*chosen, *bases], [*wounds, *[None] * len(bases)])
    with DuckDBEngine.over_tables(tables) as duck:
        yield duck, names, expected


@pytest.mark.parametrize("check", sorted(all_checks()))
def test_each_check_finds_what_was_put_in_and_accuses_nothing_legal(wounded, check):
    duck, names, expected = wounded
    rows = asked(duck, all_checks()[check])
    missed = [
        f"{name}: {each}"
        for number, (name, each) in enumerate(zip(names, expected, strict=True))
        if each.check == check and not found(rows, number, each)
    ]

    assert missed == []
    assert [row for row in held(rows) if row["history"] >= len(names)] == [], "a legal history is accused"


def test_every_check_that_can_fail_a_trial_has_something_to_find(wounded):
    _, _, expected = wounded

    assert {each.check for each in expected} | {"longest-gap"} == set(all_checks()), "that one is measured only"
