"""What this suite has put before the nodes ends by itself: no failure of the broker's, and it is put in place again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.case import by_id
from brokertrial.suites.probe.target_condition import UNSETTLED
from brokertrial.suites.result import Failure, Outcome, Reason
from brokertrial.suites.running.liveness import Liveness

WHY = "the gateway to its nodes ended by itself (status -6)"
STUCK = Outcome(Verdict.FAIL, Reason("anomaly", "no progress"), failures=(Failure("anomaly:x", "no progress"),))
HARMED = msgspec.structs.replace(STUCK, failures=(Failure("anomaly:lost", "a record is lost", harms=True),))


class Behind:
    """A target behind a gateway that may have ended; nothing else is wrong with it."""

    capabilities = frozenset({"started"})
    restartable = False

    def __init__(self) -> None:
        self.why, self.recovered = "", 0

    def unreached(self) -> str:
        return self.why

    def recover(self) -> None:
        self.why, self.recovered = "", self.recovered + 1

    def served_by(self, place: object) -> frozenset[Any]:
        return frozenset()

    def alive(self) -> bool:
        return True

    def health_problem(self) -> str:
        return ""

    def alarms(self, begin_ns: int, end_ns: int) -> list[Any]:
        return []


def watched(target: Behind) -> Liveness:
    """As in a run, with nodes that cannot be watched; the records of the health check are all taken."""
    nothing = lambda *_, **__: None  # noqa: E731 - what is done and says nothing
    health: Any = SimpleNamespace(
        open=nothing, measure=nothing, measure_again=nothing, restarted=nothing, fault=nothing, is_well=True
    )
    liveness = Liveness(target, health, list, blind=True)  # type: ignore[arg-type]
    liveness.begin(by_id()["idempotence/lost-ack"])
    return liveness


def test_an_attempt_that_nothing_reached_says_nothing_of_the_broker() -> None:
    target = Behind()
    liveness = watched(target)
    target.why = WHY
    outcome = liveness.after(STUCK)
    assert (outcome.verdict, outcome.reason and outcome.reason.kind) == (Verdict.INCONCLUSIVE, UNSETTLED)
    assert outcome.reason is not None and WHY in outcome.reason.sentence
    assert liveness.after(HARMED) is HARMED, "a record that was lost was lost before"


def test_it_is_mended_before_the_next_attempt_and_says_no_more_then() -> None:
    target = Behind()
    liveness = watched(target)
    target.why = WHY
    liveness.after(STUCK)
    liveness.restart_if_sick("")
    assert target.recovered == 1
    assert liveness.after(STUCK) is STUCK


def test_while_it_is_there_an_outcome_stays_what_it_is() -> None:
    target = Behind()
    assert watched(target).after(STUCK) is STUCK and target.recovered == 0
