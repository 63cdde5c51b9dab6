"""The second opinion on what the fast paths found: confirmed, drawn, or said to be missing and why."""

from __future__ import annotations

import pytest

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.judge import judge
from brokertrial.checkers.linearizability import crosscheck
from brokertrial.checkers.linearizability.crosscheck import cross_checks
from brokertrial.checkers.linearizability.porcupine.build import PorcupineMissing
from brokertrial.checkers.linearizability.porcupine.process import PorcupineRefused
from brokertrial.checkers.linearizability.search.question import SearchResult
from brokertrial.checkers.minimise.minimum import minimise
from brokertrial.checkers.verdict import Verdict
from brokertrial.histories.header import Header
from brokertrial.histories.reader import History
from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import Client, Event, Operation

LOG_CHECKS = ["log-order", "log-recency"]


@pytest.fixture
def told(tmp_path):
    """A recorded history of one topic: (kind, call, ret, fields) each, and events."""

    def tell(*operations, events=()) -> History:
        with Recorder.create(
            tmp_path / "history", Header(case="tests/crosscheck", target="nobody", nodes=1)
        ) as history:
            history.add(Client(client="p", library="librdkafka", acks=-1, idempotence=True))
            history.add(Client(client="r", library="wire", isolation="read_uncommitted", mode="assign"))
            for number, (kind, call, ret, fields) in enumerate(operations, start=1):
                client = "p" if kind == "send" else "r"
                fixed = {"client": client, "outcome": "ok", "topic": "t", "partition": 0, **fields}
                history.add(Operation(op=number, kind=kind, call_ns=call, return_ns=ret, **fixed))
            for event in events:
                history.add(event)
            history.close(complete=True)
        return History.open(tmp_path / "history")

    return tell


def send(call, ret, base, count=1):
    return "send", call, ret, {"base_offset": base, "count": count}


def end(call, ret, at):
    return "list_offsets", call, ret, {"high_watermark": at}


def commit(call, ret, number, offset):
    return "commit", call, ret, {"group": "g", "commit_id": number, "committed_offset": offset}


def recall(call, ret, number, offset):
    return "committed", call, ret, {"group": "g", "commit_id": number, "committed_offset": offset}


BROKEN = {
    "append-order": [send(0, 1, 1), send(2, 3, 0)],
    "read-from-future": [end(0, 1, 1), send(2, 3, 0)],
    "torn-batch": [send(0, 9, 0, 3), end(1, 2, 2)],
    "stale-read": [send(0, 1, 0), end(2, 3, 0)],
    "end-regression": [send(0, 9, 0), end(1, 2, 1), end(3, 4, 0)],
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_the_fast_path_finds_is_confirmed(name, told, program):
    history = told(*BROKEN[name])
    anomalies = [found for found in judge(history, LOG_CHECKS).anomalies if found.name == name]
    opinion = cross_checks(history, anomalies)[0]

    assert (opinion.verdict, set(opinion.operations) >= set(anomalies[0].operations)) == ("confirmed", True)
    assert opinion.sentence.startswith("Cross-checked by porcupine v1.3.1")


def test_a_commit_that_comes_back_is_confirmed(told, program):
    rows = [commit(1, 2, 1, 10), commit(3, 4, 2, 20), recall(5, 6, 2, 20), recall(7, 8, 1, 10)]
    history = told(*rows)
    opinion = cross_checks(history, judge(history, ["commit-order"]).anomalies)[0]

    assert (opinion.verdict, opinion.operations) == ("confirmed", (1, 4, 2, 3))


def test_a_long_history_is_cut_to_what_matters_and_drawn_with_its_faults(told, program, tmp_path):
    before = [send(10 * base, 10 * base + 5, base) for base in range(200)]
    faults = [Event(kind="window-begin", window="f1", at_ns=1990), Event(kind="window-end", window="f1", at_ns=5000)]
    history = told(*before, end(2000, 2001, 197), events=faults)
    anomalies = judge(history, LOG_CHECKS).anomalies
    opinion = cross_checks(history, anomalies, pictures=tmp_path / "pictures")[0]

    assert opinion.verdict == "confirmed" and len(opinion.operations) < 10
    assert opinion.picture is not None
    drawn = opinion.picture.read_text()
    assert "end? -\\u003e 197" in drawn and "f1" in drawn


@pytest.mark.parametrize("name", BROKEN)
def test_of_a_minimised_history_the_engine_is_shown_no_more_than_is_left(name, told, program, tmp_path):
    crowd = [send(0, 9, base) for base in range(10, 14)] + [end(0, 9, at) for at in range(10, 14)]
    history = told(*BROKEN[name], *crowd)
    anomaly = next(found for found in judge(history, LOG_CHECKS).anomalies if found.name == name)
    part = minimise(history, anomaly).part
    opinion = cross_checks(history, [anomaly], tmp_path / "pictures", part=part)[0]

    assert opinion.verdict == "confirmed"
    assert set(opinion.operations) == {row.op for row in part.rows("operations")} >= set(anomaly.operations)
    assert part.operations < len(crowd) and opinion.picture is not None


def test_other_anomalies_are_not_asked_about(told):
    other = Anomaly(
        name="lost-write", guarantee="dur-001", topic="t", partition=0, offsets=(), values=(), operations=(1,),
        sentence="", strength="durability", attribution="broker",
    )  # fmt: skip
    assert cross_checks(told(*BROKEN["stale-read"]), [other]) == []


def test_without_go_it_is_said_that_nothing_was_cross_checked(told, monkeypatch):
    def absent(*_):
        raise PorcupineMissing("there is no Go.")

    monkeypatch.setattr(crosscheck, "ask_porcupine", absent)
    history = told(*BROKEN["stale-read"])
    opinion = cross_checks(history, judge(history, LOG_CHECKS).anomalies)[0]

    assert opinion.verdict == "open"
    assert opinion.sentence == "Not cross-checked by porcupine: there is no Go. Our own search agrees."


@pytest.mark.parametrize("problem", [PorcupineRefused("line 3 is odd."), OSError("no such program")])
def test_a_cross_check_that_fails_leaves_the_verdict_alone(told, monkeypatch, problem):
    def broken(*_):
        raise problem

    monkeypatch.setattr(crosscheck, "ask_porcupine", broken)
    history = told(*BROKEN["stale-read"])
    opinion = cross_checks(history, judge(history, LOG_CHECKS).anomalies)[0]

    assert opinion.verdict == "open" and str(problem) in opinion.sentence


@pytest.mark.parametrize(
    ("answer", "verdict", "words"),
    [
        (SearchResult("unknown", "memory", engine="porcupine"), "open", "came to no end (memory)"),
        (SearchResult("ok", engine="porcupine"), "refuted", "our defect"),
    ],
)
def test_no_end_confirms_nothing_and_a_disagreement_is_ours(told, monkeypatch, answer, verdict, words):
    monkeypatch.setattr(crosscheck, "ask_porcupine", lambda *_: [answer])
    history = told(*BROKEN["stale-read"])
    opinion = cross_checks(history, judge(history, LOG_CHECKS).anomalies)[0]

    assert opinion.verdict == verdict and words in opinion.sentence


def test_a_stored_failure_is_shown_with_the_second_opinion(told, monkeypatch, program):
    from brokertrial.suites.result import Outcome
    from brokertrial.suites.running import rejudge
    from brokertrial.suites.trials import verdict

    history = told(*BROKEN["stale-read"])
    found = Outcome(Verdict.FAIL, anomalies=tuple(judge(history, LOG_CHECKS).anomalies))
    monkeypatch.setattr(verdict, "judged", lambda *_: found)
    outcome = rejudge._trial(None, history, None)

    assert outcome.verdict is Verdict.FAIL
    assert [(line.what, line.text[:27]) for line in outcome.evidence] == [
        ("cross-check", "Cross-checked by porcupine ")
    ]
