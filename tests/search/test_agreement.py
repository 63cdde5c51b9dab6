"""Three engines, one verdict: the fast path, the search in Python and porcupine, on random small histories."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from brokertrial.checkers.linearizability.porcupine.build import PorcupineMissing, helper
from brokertrial.checkers.linearizability.porcupine.client import rule
from brokertrial.checkers.linearizability.search.question import Question
from tests.search.coordinators import MAKERS
from tests.search.judged import judged
from tests.search.objects import KINDS, Kind

SEED = 20_251
MANY, VERY_MANY = 10_000, 100_000
CHUNK = 10_000


@pytest.fixture(scope="module")
def program() -> Path:
    """Porcupine's helper."""
    try:
        return helper()
    except PorcupineMissing as problem:
        pytest.skip(str(problem))


def shrunk(rows: Sequence[Any], wrong: Callable[[Sequence[Any]], bool]) -> Sequence[Any]:
    """The history with as many operations taken out as can be while it still shows what is wrong."""
    place = 0
    while place < len(rows):
        fewer = [*rows[:place], *rows[place + 1 :]]
        try:
            smaller = bool(fewer) and wrong(fewer)
        except (ValueError, TypeError, StopIteration):
            smaller = False
        rows, place = (fewer, 0) if smaller else (rows, place + 1)
    return rows


def compare(kind: Kind, histories: Sequence[Sequence[Any]]) -> int:
    """How many are illegal. Fails with the smallest history on which the fast path and the search differ."""

    def differs(rows: Sequence[Any]) -> bool:
        return kind.legal(rows) != (judged(kind.question(rows)).ruling == "ok")

    for rows in histories:
        if differs(rows):
            pytest.fail(f"the fast path says {kind.legal(shrunk(rows, differs))} of {shrunk(rows, differs)}")
    return sum(not kind.legal(rows) for rows in histories)


def compare_with_porcupine(kind: Kind, histories: Sequence[Sequence[Any]], program: Path) -> None:
    """Fails with the smallest history on which porcupine and the fast path differ."""

    def differs(rows: Sequence[Any]) -> bool:
        return kind.legal(rows) != (rule([kind.question(rows)], program=program)[0].ruling == "ok")

    answers = rule([kind.question(rows) for rows in histories], program=program)
    for rows, answer in zip(histories, answers, strict=True):
        if answer.ruling == "unknown" or kind.legal(rows) != (answer.ruling == "ok"):
            pytest.fail(f"porcupine says {answer.ruling} of {shrunk(rows, differs)}")


@pytest.mark.parametrize("name", KINDS)
def test_the_fast_path_and_the_search_agree(name):
    rng = random.Random(SEED)
    histories = [KINDS[name].make(rng) for _ in range(MANY)]
    illegal = compare(KINDS[name], histories)

    assert MANY / 5 < illegal < MANY * 4 / 5, "the generator makes too little of one sort"


@pytest.mark.parametrize("name", KINDS)
def test_porcupine_agrees_with_both(name, program):
    rng = random.Random(SEED)
    compare_with_porcupine(KINDS[name], [KINDS[name].make(rng) for _ in range(MANY)], program)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", KINDS)
def test_all_agree_on_very_many(name, program):
    rng, illegal = random.Random(SEED + 1), 0
    for _ in range(VERY_MANY // CHUNK):
        histories = [KINDS[name].make(rng) for _ in range(CHUNK)]
        illegal += compare(KINDS[name], histories)
        compare_with_porcupine(KINDS[name], histories, program)
    print(f"{name}: {VERY_MANY} histories, {illegal} of them illegal, no disagreement")


@pytest.mark.parametrize("name", MAKERS)
def test_both_searches_agree_on_what_has_no_fast_path(name, program):
    rng = random.Random(SEED)
    questions = [MAKERS[name](rng) for _ in range(2_000)]
    own = [judged(question).ruling for question in questions]
    answers = [answer.ruling for answer in rule(questions, program=program)]
    different = [question for question, one, other in zip(questions, own, answers, strict=True) if one != other]

    assert [_smallest(question, program) for question in different[:1]] == []
    assert 200 < own.count("illegal") < 1_800


def _smallest(question: Question, program: Path) -> Question:
    def differs(ops: Sequence[Any]) -> bool:
        fewer = Question(question.model, ops, question.init)
        return judged(fewer).ruling != rule([fewer], program=program)[0].ruling

    return Question(question.model, shrunk(question.ops, differs), question.init)
