"""A load that leads nowhere: the target died, or is silent to everybody, and no fault holds a node down."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from brokertrial.suites.trials import load, run_trial
from brokertrial.suites.trials.facts import TrialFacts
from brokertrial.suites.trials.load import Load

SECOND = 1_000_000_000


class Scripted:
    """A clock, a target, clients and faults that do as they are told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.acked, self.alive = SECOND, 0, True
        self.active: list[str] = []
        self.holds_a_node = False
        monkeypatch.setattr(load, "now_ns", lambda: self.now)
        trial_context = SimpleNamespace(alive=lambda: self.alive, limit=lambda seconds: seconds)
        self.load = Load(self, trial_context)  # type: ignore[arg-type]

    def seconds(self, number: int, each: int = 0) -> bool:
        """Whether it leads nowhere within so many seconds, with so many acknowledgements in each."""
        for _ in range(number):
            self.now += SECOND
            self.acked += each
            if self.load.leads_nowhere(self):
                return True
        return False


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Scripted:
    return Scripted(monkeypatch)


def test_one_acknowledgement_now_and_then_is_progress(scripted: Scripted) -> None:
    assert not any(scripted.seconds(11) or scripted.seconds(1, each=1) for _ in range(5))


def test_silence_ends_it_and_counts_as_time_to_recover(scripted: Scripted) -> None:
    assert not scripted.seconds(2, each=9)
    assert scripted.seconds(13)
    assert scripted.load.undisturbed_since_ns == 3 * SECOND


def test_what_was_disturbed_has_all_its_time_to_recover(scripted: Scripted) -> None:
    scripted.active = ["drop_response"]
    assert scripted.seconds(14)
    assert scripted.load.undisturbed_since_ns == 0


def test_a_node_that_a_fault_holds_down_may_be_dead_and_silent(scripted: Scripted) -> None:
    scripted.holds_a_node, scripted.alive = True, False
    assert not scripted.seconds(40)


def test_a_death_is_looked_at_three_times(scripted: Scripted) -> None:
    scripted.alive = False
    assert not scripted.seconds(2, each=1)
    scripted.alive = True
    assert not scripted.seconds(1, each=1)
    scripted.alive = False
    assert not scripted.seconds(2, each=1)
    assert not scripted.load.found_dead
    assert scripted.seconds(1, each=1)
    assert scripted.load.found_dead


def test_recovery_begins_with_the_silence_that_nothing_disturbed(scripted: Scripted) -> None:
    assert not scripted.seconds(2, each=9)
    assert scripted.seconds(13)
    assert scripted.load.recovery_began_ns() == 3 * SECOND
    assert scripted.load.is_silent()


def test_what_was_disturbed_is_given_time_before_it_is_called_silent(scripted: Scripted) -> None:
    scripted.active = ["drop_response"]
    assert scripted.seconds(14)
    assert scripted.load.recovery_began_ns() == scripted.now
    scripted.now += 11 * SECOND
    assert not scripted.load.is_silent()
    scripted.acked += 1
    assert not scripted.load.is_silent()
    scripted.now += 13 * SECOND
    assert scripted.load.is_silent()


class Waiting:
    """Clients of which nothing moves; each wait, and each try of a fresh client, takes its time."""

    def __init__(self, scripted: Scripted, met: str, moves_at_s: float = 1e9) -> None:
        self.scripted, self.met, self.moves_at_s = scripted, met, moves_at_s
        self.context = SimpleNamespace(hung_calls=[])

    def stuck(self, since_ns: int) -> list[str]:
        return [] if self.scripted.now / SECOND > self.moves_at_s else ["sends to t-0"]

    def until(self, condition: Callable[[], bool], within_s: float) -> bool:
        end = self.scripted.now + int(within_s * SECOND)
        while not (found := condition()) and self.scripted.now < end:
            self.scripted.now += SECOND
        return found

    def fresh_start(self, within_s: float, unless: Callable[[], bool] = lambda: False) -> str:
        """As Clients: one try takes ten seconds."""
        end = self.scripted.now + int(within_s * SECOND)
        while self.met and self.scripted.now <= end and not unless():
            self.scripted.now += 10 * SECOND
        return "" if unless() else self.met

    def readers_behind(self, within_s: float) -> list[str]:
        return []


@pytest.fixture
def recovered(scripted: Scripted, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[TrialFacts, float]]:
    """What is known after the recovery of these clients, and how long it took."""

    def run(met: str, moves_at_s: float = 1e9) -> tuple[TrialFacts, float]:
        monkeypatch.setattr(run_trial, "now_ns", lambda: scripted.now)
        began, seen = scripted.now, TrialFacts()
        context = SimpleNamespace(alive=lambda: True, limit=lambda seconds: seconds)
        run_trial._recover(SimpleNamespace(recovery_s=30.0), context, Waiting(scripted, met, moves_at_s), seen,
                           scripted.load)  # type: ignore[arg-type]  # fmt: skip
        return seen, (scripted.now - began) / SECOND

    return run


def test_a_silent_target_is_tried_by_fresh_clients_within_the_limit_and_not_after_it(
    recovered: Callable[..., tuple[TrialFacts, float]],
) -> None:
    seen, took_s = recovered("nobody answered")
    assert seen.certain and seen.stuck == ["sends to t-0"]
    assert 30 < took_s <= 42


def test_one_that_moves_within_the_limit_is_not_accused(recovered: Callable[..., tuple[TrialFacts, float]]) -> None:
    seen, took_s = recovered("nobody answered", moves_at_s=25)
    assert not (seen.certain or seen.stuck)
    assert took_s < 35


def test_where_fresh_clients_get_on_the_others_have_all_their_time(
    recovered: Callable[..., tuple[TrialFacts, float]],
) -> None:
    seen, took_s = recovered("")
    assert not seen.certain and seen.stuck
    assert took_s >= 30


def test_what_is_certain() -> None:
    assert not TrialFacts().certain
    assert not TrialFacts(stuck=["sends"]).certain
    assert TrialFacts(stuck=["sends"], fresh="nobody answered").certain
    assert TrialFacts(alive=False).certain
    assert TrialFacts(died=True).certain
    assert not TrialFacts(alive=False, unhealed={"f1": "we could not start it again"}).certain
