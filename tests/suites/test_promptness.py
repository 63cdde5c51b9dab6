"""Limits follow the target's latency, measured anew for each case, up to a cap; above it nothing is said about time."""

from __future__ import annotations

import pytest

from brokertrial.checkers.verdict import Verdict
from brokertrial.faults.kinds.delay import delay
from brokertrial.suites.probe import promptness
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.failures import StatementFalse, Unclear
from brokertrial.suites.probe.wire import Wire
from brokertrial.wire.messages import request, response
from tests.suites.running import results_of
from tests.suites.scripted import TOPIC, ScriptedExchanger, wire_to

AT_THE_END = "fetch/at-the-end"


@pytest.mark.parametrize(
    ("latency_ms", "slack_s", "patience_s"),
    [(1, 2.01, 20), (300, 5, 20), (1_000, 12, 60), (1_500, 12, 90), (8_000, 12, 120), (60_000, 12, 120)],
)
def test_limits_have_a_cap_and_patience_has_a_bound(latency_ms, slack_s, patience_s):
    assert promptness.slack_s(latency_ms) == pytest.approx(slack_s)
    assert promptness.patience_s(latency_ms) == patience_s


@pytest.mark.parametrize("latency_ms", [0.1, 1, 300, 1_000, 8_000])
@pytest.mark.parametrize("hidden_s", [3, 20, 30])
def test_at_once_is_less_than_half_of_what_would_hide_a_failure(latency_ms, hidden_s):
    assert promptness.promptness_s(latency_ms, hidden_s=hidden_s) <= hidden_s / 2
    assert promptness.promptness_s(latency_ms) >= 2


def slow_to(latency_ms, took_s):
    """A wire whose broker answers ApiVersions after so many seconds."""
    exchanger = ScriptedExchanger(ListGroups=lambda asked: response("ListGroups"))
    first = exchanger.receive

    def late(connection, timeout_s, api="", version=-1):
        if api == "ListGroups":
            exchanger.ns += int(took_s * 1e9)
        return first(connection, timeout_s, api, version)

    exchanger.receive = late
    return Wire(exchanger, CaseContext(prefix="bt-x", case="tests/case", latency_ms=latency_ms), [("h", 9)])


@pytest.mark.parametrize(
    ("latency_ms", "took_s", "ends"),
    [
        (1, 1.9, None),
        (1, 2.1, StatementFalse),
        (1, 14, StatementFalse),
        (900, 8.9, None),
        (900, 9.1, StatementFalse),
        (8_000, 9.9, None),
        (8_000, 10.1, Unclear),
    ],
)
def test_at_once(latency_ms, took_s, ends):
    wire = slow_to(latency_ms, took_s)
    answer = wire.ask(request("ListGroups"))
    if ends is None:
        wire.at_once(answer, hidden_s=20)
        return
    with pytest.raises(ends) as caught:
        wire.at_once(answer, hidden_s=20)
    assert getattr(caught.value, "kind", "") in ("statement", "slow-target")


def test_at_once_counts_from_what_it_waited_for():
    wire, exchanger = wire_to(ListGroups=lambda asked: response("ListGroups"))
    waiting = wire.ask(request("ListGroups"), via="reader", wait=False)
    exchanger.ns += 15_000_000_000
    cause = wire.ask(request("ListGroups"))
    wire.at_once(waiting, after=cause, hidden_s=20)


@pytest.mark.parametrize(("latency_ms", "ends"), [(1_000, StatementFalse), (1_001, Unclear)])
def test_what_never_comes_about_on_a_slow_target_is_inconclusive(latency_ms, ends):
    exchanger = ScriptedExchanger()
    wire = Wire(exchanger, CaseContext(prefix="bt-x", case="tests/case", latency_ms=latency_ms), [("h", 9)])
    with pytest.raises(ends):
        wire.until(lambda: False, within=5, what="pigs fly")
    with pytest.raises(ends):
        wire.eventually(lambda: wire.must(False, f"{TOPIC} must fly"), within=5)


def test_a_fetch_that_comes_late_fails(tmp_path):
    """L5: three seconds where the wait that was asked for is 20; it passed with up to 17."""
    late = delay(3_000, api="Fetch", fields={"max_wait_ms": 20_000})
    found = results_of("reference", tmp_path, [AT_THE_END], through=[late])[AT_THE_END]
    assert found.verdict is Verdict.FAIL and "it must come within 2.0 s" in found.reason.sentence
    assert found.reason.sentence.startswith("Fetch v")


def test_slow_first_answers_loosen_no_limit_for_good(tmp_path):
    """L4: the first acknowledgements are slow, the rest is quick; each case is measured by itself."""
    found = results_of(
        "reference", tmp_path, ["produce/base-offset", AT_THE_END], through=[delay(800, api="Produce", times=4)]
    )
    assert [result.verdict for result in found.values()] == [Verdict.PASS, Verdict.PASS]
    assert [result.facts["latency_ms"] < 400 for result in found.values()] == [True, True]


def test_a_slow_target_is_said_once_and_its_lateness_decides_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(promptness, "CAP_MS", 40.0)
    ids = [AT_THE_END, "fetch/enough-bytes"]
    slow = [delay(80, api="Produce"), delay(3_000, api="Fetch", fields={"max_wait_ms": 20_000})]
    found = results_of("reference", tmp_path, ids, through=slow)
    assert {(result.verdict, result.reason.kind) for result in found.values()} == {
        (Verdict.INCONCLUSIVE, "slow-target")
    }
    assert all(len(result.attempts) == 1 for result in found.values()), "another attempt would meet the same"
    assert sum("an acknowledgement takes" in line for result in found.values() for line in result.warnings) == 1
