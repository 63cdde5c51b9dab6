"""A case goes on behind a part that is false, and lists all that is wrong."""

from __future__ import annotations

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.case import Case
from brokertrial.suites.probe.context import LONG_S
from brokertrial.suites.probe.replay import ReplayExchanger
from brokertrial.suites.probe.run_case import attempt
from brokertrial.suites.probe.wire import Wire
from brokertrial.wire import errors
from brokertrial.wire.messages import request, response
from tests.suites.scripted import SCENE, ScriptedExchanger


def listed(code: int):
    return lambda asked: response("ListGroups", error_code=code)


def described(asked):
    return response("DescribeCluster", error_code=errors.INVALID_REQUEST)


def tried(function, **handlers):
    function.__doc__ = "It MUST hold."
    case = Case("tests/case", function, ("prod-001",), (), {}, {}, False, None)
    exchanger = ScriptedExchanger(**{"ListGroups": listed(errors.INVALID_GROUP_ID), **handlers})
    outcome = attempt(case, Wire(exchanger, SCENE, [("h", 9)]), exchanger, {}, lambda: True)
    again = ReplayExchanger(exchanger.tape)
    assert attempt(case, Wire(again, SCENE, [("h", 9)]), again, {}, lambda: True) == outcome
    assert again.left == 0
    return outcome


def test_all_that_is_wrong_is_listed_and_each_has_its_own_signature():
    def case(wire):
        for name in ("one", "two", "three"):
            with wire.part(name):
                wire.ask(request("ListGroups"))  # not looked at: the end of the part settles it
        with wire.part("the cluster"):
            wire.ask(request("DescribeCluster")).must_succeed()
        wire.ask(request("ListGroups")).must_be_refused(errors.INVALID_GROUP_ID)

    outcome = tried(case, DescribeCluster=described)
    assert outcome.verdict is Verdict.FAIL
    first, second = outcome.failures
    assert "INVALID_GROUP_ID" in first.signature and "INVALID_REQUEST" in second.signature
    assert first.sentence.startswith("one: ListGroups") and first.sentence.endswith("(likewise: two, three)")
    assert outcome.reason.sentence == first.sentence
    assert [line.what for line in second.evidence] == ["request", "answer"]


def test_a_statement_about_all_before_shows_the_last_exchanges():
    def case(wire):
        for _ in range(3):
            wire.ask(request("ListGroups")).must_be_refused(errors.INVALID_GROUP_ID)
        wire.must(False, "the three lists differ")

    outcome = tried(case)
    assert [line.what for line in outcome.evidence] == ["request", "answer"] * 2
    assert len({line.op for line in outcome.evidence}) == 2


def test_a_statement_behind_the_parts_presupposes_them():
    def case(wire):
        with wire.part("one"):
            wire.ask(request("ListGroups"))
        wire.must(False, "it is no good")
        raise AssertionError("it goes no further")

    outcome = tried(case)
    assert len(outcome.failures) == 1
    assert outcome.warnings == ("also false, which may follow from that: it is no good",)


def test_silence_behind_the_parts_comes_last():
    def case(wire):
        with wire.part("one"):
            wire.ask(request("ListGroups"))
        wire.ask(request("DescribeCluster"))

    outcome = tried(case, DescribeCluster=lambda asked: None)
    assert [one.signature for one in outcome.failures][1:] == ["no-answer:DescribeCluster"]


def test_what_was_proven_stands_though_the_case_does_not_come_to_its_end():
    def case(wire):
        with wire.part("one"):
            wire.ask(request("ListGroups"))
        wire.unclear("nothing came of it")

    outcome = tried(case)
    assert outcome.verdict is Verdict.FAIL and len(outcome.failures) == 1
    assert outcome.warnings == ("the case did not come to its end: nothing came of it",)


def test_silence_ends_the_case_and_so_does_the_third_long_wait():
    def silent(wire):
        with wire.part("one"):
            wire.ask(request("DescribeCluster"))
        raise AssertionError("it goes no further")

    assert tried(silent, DescribeCluster=lambda asked: None).failures[0].signature == "no-answer:DescribeCluster"

    def slow(wire):
        for number in range(5):
            with wire.part(f"{number}"):
                wire.rest(LONG_S + 1)
                wire.must(False, f"it is no good, {'abcde'[number]}")

    outcome = tried(slow)
    assert [one.signature[-1] for one in outcome.failures] == ["a", "b", "c"]


def test_parts_that_hold_change_nothing():
    def case(wire):
        with wire.part("one"):
            wire.ask(request("ListGroups"))

    outcome = tried(case, ListGroups=listed(0))
    assert (outcome.verdict, outcome.failures) == (Verdict.PASS, ())
