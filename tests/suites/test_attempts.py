"""What several attempts at a case come to: what one of them saw is never repeated away; harm decides the severity."""

from types import SimpleNamespace
from unittest.mock import MagicMock

import msgspec
import pytest

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.check import all_checks
from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.result import Outcome, Reason
from brokertrial.suites.running.attempts import attempt_of, concluded, severity
from brokertrial.suites.running.case_run import CaseRun
from brokertrial.suites.targets import TargetNotReady

PHANTOM = Anomaly(
    name="phantom", guarantee="rec-001", topic="t", partition=0, offsets=(3,), values=(9,), operations=(9,),
    sentence="Nobody sent value 9.", strength="integrity", attribution="broker",
)  # fmt: skip
UNKNOWN = msgspec.structs.replace(PHANTOM, name="wrong-ack-offset", attribution="unknown")
CLIENT = msgspec.structs.replace(PHANTOM, name="duplicate", attribution="client")
HANGS = Reason("client", "client producer-2 did not end")
NOTHING = Outcome(Verdict.INCONCLUSIVE, HANGS)


AWAY = Outcome(Verdict.INCONCLUSIVE, Reason("went-away", "the broker closed its connections"))


def saw(*anomalies):
    return Outcome(Verdict.INCONCLUSIVE, HANGS, anomalies=anomalies)


def come_to(*outcomes):
    attempts = [attempt_of(outcome, 7 + n, f"h~{n}") for n, outcome in enumerate(outcomes)]
    return concluded(outcomes[-1], attempts)


@pytest.mark.parametrize(
    ("outcomes", "verdict", "kind", "in_sight"),
    [
        ([Outcome(Verdict.PASS)], Verdict.PASS, None, []),
        ([NOTHING, Outcome(Verdict.PASS)], Verdict.PASS, None, []),
        ([saw(CLIENT), Outcome(Verdict.PASS)], Verdict.PASS, None, []),
        ([saw(PHANTOM), Outcome(Verdict.PASS)], Verdict.INCONCLUSIVE, "unreproduced", ["phantom"]),
        ([saw(UNKNOWN), Outcome(Verdict.PASS)], Verdict.INCONCLUSIVE, "unreproduced", ["wrong-ack-offset"]),
        ([saw(PHANTOM), NOTHING, Outcome(Verdict.PASS)], Verdict.INCONCLUSIVE, "unreproduced", ["phantom"]),
        ([saw(PHANTOM), NOTHING, NOTHING], Verdict.INCONCLUSIVE, "client", ["phantom"]),
        ([saw(PHANTOM), saw(PHANTOM), saw(PHANTOM)], Verdict.INCONCLUSIVE, "client", ["phantom"]),
        ([saw(PHANTOM), Outcome(Verdict.FAIL, HANGS)], Verdict.FAIL, "client", []),
        ([AWAY, Outcome(Verdict.PASS)], Verdict.INCONCLUSIVE, "went-away", []),
        ([AWAY, AWAY, AWAY], Verdict.INCONCLUSIVE, "went-away", []),
        ([AWAY, Outcome(Verdict.FAIL, HANGS)], Verdict.FAIL, "client", []),
    ],
)
def test_what_an_attempt_saw_is_not_repeated_away(outcomes, verdict, kind, in_sight):
    outcome = come_to(*outcomes)
    assert outcome.verdict is verdict
    assert (outcome.reason.kind if outcome.reason else None) == kind
    assert [anomaly.name for anomaly in outcome.anomalies] == in_sight


def test_the_sentence_names_the_attempt_its_seed_and_what_it_saw():
    sentence = come_to(NOTHING, saw(PHANTOM), Outcome(Verdict.PASS)).reason.sentence
    assert "attempt 2 (seed 8) saw phantom: Nobody sent value 9." in sentence


def test_every_attempt_keeps_what_it_saw_but_for_what_a_client_did():
    assert attempt_of(saw(PHANTOM, CLIENT), 7, "h").anomalies == (PHANTOM,)


@pytest.mark.parametrize(
    ("level", "outcome", "counts_as"),
    [
        ("should", Outcome(Verdict.FAIL, HANGS), "should"),
        ("should", Outcome(Verdict.FAIL, HANGS, anomalies=(PHANTOM,)), "should"),
        ("should", Outcome(Verdict.FAIL, HANGS, anomalies=(msgspec.structs.replace(PHANTOM, harms=True),)), "must"),
        ("should", Outcome(Verdict.FAIL, HANGS, anomalies=(msgspec.structs.replace(CLIENT, harms=True),)), "should"),
        ("should", Outcome(Verdict.INCONCLUSIVE, HANGS, anomalies=(msgspec.structs.replace(PHANTOM, harms=True),)),
         "should"),
        ("must", Outcome(Verdict.FAIL, HANGS), "must"),
    ],
)  # fmt: skip
def test_harm_decides_the_severity(level, outcome, counts_as):
    assert severity(level, outcome) == counts_as


def test_the_checks_say_which_anomalies_stand_alone_and_which_harm():
    checks = all_checks()
    explained = {name for name, check in checks.items() if not check.stands_alone}
    assert explained == {
        "aborted-read",  # but for a certain refusal, or an abort that was acknowledged: its rows say so themselves
        "at-least-once", "commit-changed", "group-lost", "group-repeated", "group-skipped", "longest-gap",
        "lost-latest", "no-progress", "phantom",
    }  # fmt: skip
    harms = {name for name, check in checks.items() if check.harms}
    assert {"lost-write", "phantom", "duplicate", "nonmonotonic-send", "aborted-read", "exactly-once"} <= harms
    assert not {"high-watermark-regression", "late-takeover", "longest-gap", "no-progress"} & harms


@pytest.mark.parametrize("ends_in", ["bring_back", "restore"])
@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (Outcome(Verdict.FAIL, Reason("died", "node 1 did not come back")), Verdict.FAIL),
        (Outcome(Verdict.PASS), Verdict.INCONCLUSIVE),
    ],
)
def test_a_target_that_never_comes_back_takes_no_failure_with_it(outcome, told, ends_in):
    finished = []
    session = MagicMock(run_wide_faults=None, seed=1)
    session.liveness.lacking.return_value = None
    session.attempt.return_value = outcome
    session.liveness.after.side_effect = lambda after: after
    session.health.slowness.return_value = ()
    getattr(session, ends_in).side_effect = TargetNotReady("node 1 exited with status 1")
    session.fresh_start.upon.side_effect = lambda outcome: outcome
    session.finish.side_effect = lambda case, began, spent, attempts, last, number: finished.append(last.verdict)
    case_run = CaseRun(session, SimpleNamespace(id="area/name", needs=(), apis={}, features={}, since=None), 1, 1)
    with pytest.raises(TargetNotReady):
        case_run.to_verdict()
    assert finished == [told]
