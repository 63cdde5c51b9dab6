"""Whatever breaks on our side is inconclusive with the reason `suite`, never a failure of the broker."""

import pytest

from brokertrial.checkers.verdict import Verdict
from brokertrial.histories.header import HistoryWriteFailed
from brokertrial.suites.case import Case
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.run_case import attempt
from brokertrial.suites.probe.target_condition import Condition
from tests.suites.scripted import TOPIC, produced, wire_to


def outcome_of(function, *, alive=lambda: True, found=None, **handlers):
    wire, exchanger = wire_to(**handlers)
    function.__doc__ = "Something MUST hold."
    case = Case("tests/case", function, ("prod-001",), (), {}, {}, False, None)
    look = None if found is None else lambda: found
    return attempt(case, wire, exchanger, {}, alive, look)


@pytest.mark.parametrize(
    "error", [ValueError("oops"), AssertionError("a bare comparison"), KeyError(3), RecursionError()]
)
def test_an_exception_in_a_case(error):
    def case(wire):
        wire.produce(TOPIC, batch("a"))
        raise error

    outcome = outcome_of(case, Produce=produced())
    assert (outcome.verdict, outcome.reason.kind) == (Verdict.INCONCLUSIVE, "suite")
    assert "Traceback" in outcome.evidence[0].text
    assert type(error).__name__ in outcome.reason.sentence


def test_an_exception_in_the_exchanger():
    def broken(asked):
        raise RuntimeError("the probe broke")

    outcome = outcome_of(lambda wire: wire.produce(TOPIC, batch("a")) and None, Produce=broken)
    assert (outcome.verdict, outcome.reason.kind) == (Verdict.INCONCLUSIVE, "suite")


def test_a_recorder_that_fails_is_not_caught_as_a_case():
    def full(asked):
        raise HistoryWriteFailed("disk full")

    outcome = outcome_of(lambda wire: wire.produce(TOPIC, batch("a")) and None, Produce=full)
    assert outcome.verdict is Verdict.INCONCLUSIVE


def test_an_exception_while_reading_an_answer_that_is_fine():
    def case(wire):
        wire.produce(TOPIC, batch("a")).struct.no_such_field  # noqa: B018

    outcome = outcome_of(case, Produce=produced())
    assert (outcome.verdict, outcome.reason.kind) == (Verdict.INCONCLUSIVE, "suite")


def test_no_answer_while_others_are_served_fails():
    outcome = outcome_of(lambda wire: wire.produce(TOPIC, batch("a")) and None, Produce=lambda asked: None)
    assert (outcome.verdict, outcome.reason.kind) == (Verdict.FAIL, "no-answer")


def test_nothing_answers_and_nothing_ever_did():
    outcome = outcome_of(lambda wire: wire.versions("Produce") and None, ApiVersions=lambda asked: None)
    assert (outcome.verdict, outcome.reason.kind) == (Verdict.INCONCLUSIVE, "unreachable")


def test_a_target_that_dies_of_a_case_that_would_pass():
    outcome = outcome_of(lambda wire: wire.produce(TOPIC, batch("a")) and None, alive=lambda: False, Produce=produced())
    assert (outcome.verdict, outcome.reason.kind) == (Verdict.FAIL, "died")


def test_a_target_that_died_beside_others_is_not_laid_to_a_case_though_it_is_dead_still():
    """One of four cases killed it; the other three had asked what any broker answers."""
    found = {kind: Condition(kind, "the target died of this case") for kind in ("crowded", "died")}
    for function, handler in (
        (lambda wire: wire.produce(TOPIC, batch("a")) and None, produced()),
        (lambda wire: wire.produce(TOPIC, batch("a")) and None, lambda asked: None),
    ):
        told = {
            kind: outcome_of(function, alive=lambda: False, found=condition, Produce=handler)
            for kind, condition in found.items()
        }
        assert (told["crowded"].verdict, told["crowded"].reason.kind) == (Verdict.INCONCLUSIVE, "crowded")
        assert (told["died"].verdict, told["died"].reason.kind) == (Verdict.FAIL, "died")


def test_what_the_target_does_not_offer_is_not_applicable():
    def case(wire):
        wire.not_applicable("it cannot")

    outcome = outcome_of(case)
    assert (outcome.verdict, outcome.reason.kind) == (Verdict.NOT_APPLICABLE, "not-offered")
