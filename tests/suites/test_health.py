"""A target that takes no record fails at once; of what a broker died is the frame that was under way."""

from __future__ import annotations

import pytest

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.case import Case, by_id
from brokertrial.suites.exit_status import ExitStatus
from brokertrial.suites.probe.run_case import attempt
from brokertrial.suites.running import health
from brokertrial.suites.running.options import RunOptions
from brokertrial.suites.running.run import Run
from brokertrial.wire.messages import request, response
from tests.suites import bad_broker
from tests.suites.running import results_of
from tests.suites.scripted import TOPIC, wire_to


@pytest.mark.usefixtures("targets_settle_soon")
def test_a_broker_that_takes_no_record_fails_once_and_at_once(tmp_path):
    """Such trials were inconclusive three times each: 17 of them, 51 minutes."""
    target = bad_broker.toml(tmp_path, "cannot_write")
    found = results_of(target, tmp_path / "run", ["groups/churn-delivers-everything", "protocol/correlation-ids"])
    broken = found["requires/data"]
    assert broken.is_failure and "cannot write one record" in broken.reason.sentence
    assert "KAFKA_STORAGE_ERROR" in broken.reason.sentence and broken.evidence[-1].bytes_hex
    trial = found["groups/churn-delivers-everything"]
    assert (trial.verdict, trial.reason.kind) == (Verdict.NOT_APPLICABLE, "needs")
    assert "requires/data" in trial.reason.sentence
    assert found["protocol/correlation-ids"].verdict is Verdict.PASS


@pytest.mark.usefixtures("targets_settle_soon")
def test_where_that_failure_is_not_wanted_the_run_is_not_green(tmp_path):
    """Every trial is kept back, and with the failure deselected nothing would show it."""
    target = bad_broker.toml(tmp_path, "cannot_write")
    asked = RunOptions(target, run_dir=str(tmp_path / "run"), seed=7, deselect=("requires/data",), unproven="fail")
    run = Run(asked, lambda event: None)
    run.choose([by_id()["groups/churn-delivers-everything"], by_id()["protocol/correlation-ids"]])
    try:
        assert run.start()
        found = {case.id: run.run(case).verdict for case in run.cases}
    finally:
        run.finish()
    assert found["protocol/correlation-ids"] is Verdict.PASS
    assert run.status == ExitStatus.INCONCLUSIVE


def test_a_broker_that_takes_records_is_not_accused(tmp_path):
    assert set(results_of("reference", tmp_path, ["produce/base-offset"])) == {"produce/base-offset"}


def died_of(function, **handlers):
    wire, exchanger = wire_to(**handlers)
    exchanger.refuse = {"innocent", *(f"witness{number}" for number in range(100))}
    function.__doc__ = "It MUST hold."
    case = Case("tests/case", function, ("prod-001",), (), {}, {}, False, None)
    return attempt(case, wire, exchanger, {}, lambda: False)


def test_what_was_under_way_is_shown_and_not_what_came_after_it():
    """The frame that kills is on one connection; the next request, on another, finds nobody."""

    def case(wire):
        wire.versions("ListGroups")
        line = wire.connect("bad")
        line.send(request("DescribeCluster"), 0)
        wire.must_refuse(line, because="it is bad")
        wire.ask(request("ListGroups"), via="innocent")

    outcome = died_of(case, DescribeCluster=lambda asked: "close")
    assert outcome.reason.kind == "died"
    shown = [line for line in outcome.evidence if line.what == "request"]
    assert "DescribeCluster" in shown[0].text and not any("ListGroups" in line.text for line in shown)


def test_a_case_that_passes_shows_it_too():
    def case(wire):
        wire.ask(request("ListGroups"))
        line = wire.connect("bad")
        line.send_bytes(wire.frame(request("DescribeCluster"), 0))
        wire.must_refuse(line, because="it is bad")

    outcome = died_of(case, DescribeCluster=lambda asked: "close", ListGroups=lambda asked: response("ListGroups"))
    assert (outcome.verdict, outcome.reason.kind) == (Verdict.FAIL, "died")
    assert outcome.evidence[0].bytes_hex and outcome.evidence[0].note == "under way when the broker died"


def test_a_connection_that_was_closed_before_another_was_served_is_not_of_what_it_died():
    def case(wire):
        line = wire.connect("refused")
        line.send_bytes(wire.frame(request("DescribeCluster"), 0))
        wire.must_refuse(line, because="it is refused")
        wire.ask(request("ListGroups"))
        other = wire.connect("bad")
        other.send_bytes(wire.frame(request("FindCoordinator", key="x"), 0), "the bad one")
        wire.must_refuse(other, because="it is bad")

    outcome = died_of(
        case,
        DescribeCluster=lambda asked: "close",
        FindCoordinator=lambda asked: "close",
        ListGroups=lambda asked: response("ListGroups"),
    )
    assert "the bad one" in outcome.evidence[0].text


def test_a_target_that_does_not_answer_is_not_waited_for_before_every_case(monkeypatch):
    """M38d answers no Produce: 30 s each time would be more than the cases take."""
    wire, exchanger = wire_to(Produce=lambda asked: None)
    now = [100.0]
    monkeypatch.setattr(health.time, "monotonic", lambda: now[0] + exchanger.ns / 1e9)
    monkeypatch.setattr(wire, "new_topic", lambda: TOPIC)
    watched = health.Health(lambda: wire)
    for _ in range(20):
        watched.measure()
        now[0] += 1.0
    assert exchanger.seen.count("Produce") == 1
    now[0] += 400.0
    watched.measure()
    assert exchanger.seen.count("Produce") == 2


@pytest.mark.parametrize(("stuck", "most_s"), [(True, 15), (False, 40)])
def test_where_nobody_got_anywhere_a_silent_target_is_waited_for_less(monkeypatch, stuck, most_s):
    """A trial has waited for half a minute already; each more of these was paid three times over."""
    answers = []
    wire, exchanger = wire_to(Produce=lambda asked: answers.pop() if answers else None)
    monkeypatch.setattr(health.time, "monotonic", lambda: exchanger.ns / 1e9)
    monkeypatch.setattr(wire, "new_topic", lambda: TOPIC)
    watched = health.Health(lambda: wire)
    watched._was_well = True
    assert watched.fault(lambda: False, stuck) is not None
    assert not watched.is_well
    assert exchanger.seen.count("Produce") >= 2
    assert most_s / 2 < exchanger.ns / 1e9 < most_s
