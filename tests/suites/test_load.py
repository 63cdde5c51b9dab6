"""A load that leads nowhere: the target died, or is silent to everybody, and no fault holds a node down."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from suites.trials import load
from suites.trials.facts import TrialFacts
from suites.trials.load import Load

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
    assert scripted.seconds(1, each=1)


def test_what_is_certain() -> None:
    assert not TrialFacts().certain
    assert not TrialFacts(stuck=["sends"]).certain
    assert TrialFacts(stuck=["sends"], fresh="nobody answered").certain
    assert TrialFacts(alive=False).certain
    assert not TrialFacts(alive=False, unhealed={"w1": "we could not start it again"}).certain
