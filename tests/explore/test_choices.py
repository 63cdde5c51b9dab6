"""A recorded sequence is made again exactly, whoever gives its choices: a replay, Hypothesis, a beginning to vary."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings, strategies
from hypothesis.database import InMemoryExampleDatabase, choices_to_bytes

from brokertrial.suites.explore.choices import Choices, DrawnChoices, RandomChoices, ReplayedChoices, flat
from brokertrial.suites.explore.guidance import varied

LIMITS = (2, 7, 100)


def made(choices: Choices) -> list[list[int]]:
    """Requests whose number of choices hangs on what was chosen first."""
    found = []

    def one() -> list[int]:
        first = choices.rule([1.0, 2.0, 1.0], [])
        return [first, *(choices.below(LIMITS[number]) for number in range(first + 1))]

    while (request := choices.request(one)) is not None:
        found.append(request)
    return found


@given(strategies.integers(0, 10**6), strategies.integers(1, 30))
def test_a_replay_makes_the_same_requests(seed: int, length: int) -> None:
    random = RandomChoices(Random(seed), length)
    requests = made(random)
    replayed = ReplayedChoices(random.recorded)

    assert made(replayed) == requests
    assert replayed.recorded == random.recorded
    assert len(requests) == length


def test_hypothesis_begins_with_what_was_recorded_and_shrinks_it() -> None:
    random = RandomChoices(Random(3), 12)
    requests = made(random)
    seen: list[list[list[int]]] = []
    database = InMemoryExampleDatabase()
    kept = settings(
        database=database, phases=(Phase.reuse, Phase.shrink), max_examples=1, suppress_health_check=list(HealthCheck)
    )

    def condition(data: Any) -> bool:
        seen.append(made(DrawnChoices(data, 12)))
        return any(request[0] == 2 for request in seen[-1])

    from hypothesis import find

    database.save(b"it", choices_to_bytes(flat(random.recorded)))
    find(strategies.data(), condition, settings=kept, database_key=b"it")

    assert seen[0] == requests
    assert min(seen, key=lambda each: (not any(r[0] == 2 for r in each), len(each), each)) == [[2, 0, 0, 0]]


def test_a_number_that_is_too_large_is_brought_below_its_limit() -> None:
    assert made(ReplayedChoices([[1, 9, 9]])) == [[1, 1, 2]]
    assert made(ReplayedChoices([[2]])) == [[2, 0, 0, 0]]


def test_a_discarded_request_leaves_nothing() -> None:
    choices = ReplayedChoices([[0, 1], [0, 0]])
    choices.request(lambda: choices.below(1))
    choices.discard()
    made(choices)
    assert choices.recorded == ((0, 0),)


@given(strategies.integers(0, 10**6))
def test_a_varied_sequence_can_still_be_made(seed: int) -> None:
    rng = Random(seed)
    one, other = (RandomChoices(rng, 8), RandomChoices(rng, 8))
    made(one), made(other)
    beginning = varied(one.recorded, other.recorded, rng)
    assert len(made(RandomChoices(rng, 20, beginning))) <= max(20, len(beginning))
