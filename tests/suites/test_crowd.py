"""Cases side by side: a target that is not well is laid to nobody before each suspect was tried alone."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.case import by_id
from brokertrial.suites.events import CaseFinished, CaseStarted, RunEvent, RunStarted
from brokertrial.suites.outcome import TIMED, failed, inconclusive, of_anomalies, passed
from brokertrial.suites.probe.target_condition import CROWDED, DIED, WELL, Condition
from brokertrial.suites.result import NO_PROGRESS, CaseResult, Outcome, Reason
from brokertrial.suites.running.attempts import attempt_of, concluded
from brokertrial.suites.running.case_run import NO_MORE_REPEATS, CaseRun
from brokertrial.suites.running.crowd import Crowd, CrowdMember
from brokertrial.suites.running.needs_cluster import why_alone
from brokertrial.suites.running.options import RunOptions
from brokertrial.suites.running.run import run
from brokertrial.suites.running.session import TargetSession
from brokertrial.suites.running.side_by_side import SET, SideBySide
from brokertrial.suites.targets import TargetNotReady

IDS = ("offsets/ends", "offsets/by-time-after-the-last", "protocol/no-client-id")
CASES = [by_id()[name] for name in IDS]
LIMIT_S = 20.0


class FakeLiveness:
    """Well until one of the cases in `kills` was sent; again after it was restarted."""

    def __init__(self) -> None:
        self.dead = False
        self.looks = 0

    def begin_together(self) -> None: ...

    def begin(self, case, went_away=False) -> None: ...

    def lacking(self, case) -> None: ...

    def look(self, stuck=False) -> Condition:
        self.looks += 1
        return Condition("died", DIED) if self.dead else WELL

    def after(self, outcome: Outcome) -> Outcome:
        return self.look().upon(outcome)


class FakeSession:
    """As much of a TargetSession as cases side by side ask for."""

    def __init__(self, kills: set[str], again: set[str]) -> None:
        self.liveness = FakeLiveness()
        self.results: list[CaseResult] = []
        self.seed, self.run_wide_faults = 1, None
        self.interruption = SimpleNamespace(check=lambda: None)
        self.health = SimpleNamespace(slowness=tuple)
        self.repeats = SimpleNamespace(spend=lambda *_: None, left_s=self.left_s)
        self.fresh_start = SimpleNamespace(upon=lambda outcome: outcome, taken=self.taken)
        self.offer = None
        self.alone: list[str] = []
        self._kills, self._again = kills, again
        self._both = threading.Barrier(2)

    left_s = 100.0

    def emit(self, event: RunEvent) -> None: ...

    def taken(self) -> TargetNotReady | None: ...

    def attempt(self, case, number, member=None, went_away=False) -> Outcome:
        if member is None:
            self.alone.append(case.id)
        else:
            self._both.wait(LIMIT_S)  # two are under way
        self.liveness.dead |= case.id in (self._kills if member else self._again)
        if member is not None:
            self._both.wait(LIMIT_S)
        return passed()

    def bring_back(self) -> None: ...

    def restore(self, case=None, failed_in="", *, failed=False) -> tuple[str, ...]:
        self.liveness.dead = False
        return ()

    def finish(self, case, began, spent_ns, attempts, outcome, number) -> CaseResult:
        return self.tell(CaseResult.of(case, outcome, attempts=attempts))

    def tell(self, result: CaseResult) -> CaseResult:
        self.results.append(result)
        return result


def together(monkeypatch: pytest.MonkeyPatch, kills: set[str], again: set[str]) -> FakeSession:
    monkeypatch.setattr("brokertrial.suites.running.case_run.unmet_need", lambda case, offer: None)
    session = FakeSession(kills, again)
    runs = [CaseRun(session, case, 1, 2) for case in CASES[:2]]
    SideBySide(session, 2, CaseRun.to_verdict, lambda result: result, lambda: False).run(runs)
    return session


def test_who_is_well_is_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    session = together(monkeypatch, set(), set())
    assert [(result.verdict, len(result.attempts)) for result in session.results] == [(Verdict.PASS, 1)] * 2
    assert session.alone == []


def test_the_suspects_are_tried_alone_and_the_guilty_one_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    guilty, innocent = IDS[0], IDS[1]
    session = together(monkeypatch, {guilty}, {guilty})
    found = {result.case: result for result in session.results}
    assert sorted(session.alone) == sorted((guilty, innocent)) and set(found) == {guilty, innocent}
    assert (found[guilty].verdict, found[guilty].reason.kind) == (Verdict.FAIL, "died")
    assert found[innocent].verdict is Verdict.PASS
    assert [attempt.reason.kind for attempt in found[innocent].attempts if attempt.reason] == [CROWDED]


def test_what_nobody_does_alone_is_said_of_the_set(monkeypatch: pytest.MonkeyPatch) -> None:
    session = together(monkeypatch, {IDS[0]}, set())
    found = {result.case: result for result in session.results}
    assert [found[name].verdict for name in IDS[:2]] == [Verdict.PASS] * 2
    assert found[SET].is_failure and found[SET].reason.kind == "died"
    assert all(name in found[SET].reason.sentence for name in IDS[:2])


@pytest.mark.parametrize(("left_s", "verdict"), [(100.0, Verdict.PASS), (0.0, Verdict.INCONCLUSIVE)])
def test_who_came_to_no_verdict_is_tried_alone_while_that_is_worth_its_time(monkeypatch, left_s, verdict) -> None:
    attempt = FakeSession.attempt

    def too_late(self, case, number, member=None, went_away=False) -> Outcome:
        tried = attempt(self, case, number, member, went_away)
        return tried if member is None else inconclusive(CROWDED, "it came too late")

    monkeypatch.setattr(FakeSession, "attempt", too_late)
    monkeypatch.setattr(FakeSession, "left_s", left_s, raising=False)
    session = together(monkeypatch, set(), set())
    assert {result.verdict for result in session.results} == {verdict}
    assert bool(session.alone) is (left_s > 0)
    assert any(NO_MORE_REPEATS in result.warnings for result in session.results) is (left_s == 0)


def test_that_it_came_back_without_its_data_is_said_of_the_set(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = [TargetNotReady("node 1 exited with status 1 before it served")]
    monkeypatch.setattr(FakeSession, "taken", lambda session: lost.pop() if lost else None)
    session = together(monkeypatch, {IDS[0]}, {IDS[0]})
    found = {result.case: result for result in session.results}
    assert [found[name].verdict for name in IDS[:2]] == [Verdict.FAIL, Verdict.PASS], "the target goes on"
    assert found[SET].is_failure and found[SET].reason.sentence.endswith(
        "does not start again with its own data: node 1 exited with status 1 before it served"
    )


def test_a_case_after_which_the_target_was_well_is_no_suspect() -> None:
    liveness = FakeLiveness()
    crowd = Crowd(liveness)
    first, second, third = (CrowdMember(crowd, case) for case in CASES[:3])
    for member, case in zip((first, second, third), CASES[:3], strict=True):
        member.begin(case)
    assert first.after(passed()).verdict is Verdict.PASS
    liveness.dead = True
    assert second.after(passed()).reason.kind == CROWDED
    assert crowd.closed and set(crowd.suspects) == {CASES[1].id, CASES[2].id}
    assert third.after(failed("statement", "the end must be 3; it is 4")).reason.kind == CROWDED
    alone = Crowd(liveness)
    only = CrowdMember(alone, CASES[0])
    only.begin(CASES[0])
    assert only.after(passed()).reason.kind == "died", "nobody else was under way"


def test_harm_to_a_record_is_never_repeated_away() -> None:
    harm = failed("statement", "an acknowledged record is gone")
    harmed = replace(harm, failures=(replace(harm.failures[0], harms=True),))
    assert Condition("crowded", "it died").upon(harmed) == harmed
    assert Condition("crowded", "it died").upon(harm).verdict is Verdict.INCONCLUSIVE


def anomaly(name: str) -> Anomaly:
    place: dict[str, Any] = {"guarantee": "repl-015", "topic": "t", "partition": 0, "offsets": (), "values": ()}
    return Anomaly(name=name, **place, operations=(1,), sentence=".", strength="recency", attribution="broker")


def late(*names: str) -> Outcome:
    """A trial that failed by these anomalies."""
    found = tuple(anomaly(name) for name in names)
    return Outcome(Verdict.FAIL, Reason("anomaly", "no progress"), anomalies=found, failures=of_anomalies(found))


@pytest.mark.parametrize("name", sorted(TIMED))
def test_what_only_took_too_long_beside_others_is_tried_again_alone(name: str) -> None:
    member = CrowdMember(Crowd(FakeLiveness()), CASES[0])
    member.begin(CASES[0])
    outcome = member.after(late(name))
    assert (outcome.verdict, outcome.reason.kind, outcome.failures) == (Verdict.INCONCLUSIVE, CROWDED, ())
    attempts = [attempt_of(outcome, 1, "")]
    assert concluded(late(name), attempts).verdict is Verdict.FAIL, "seen again alone"
    open_still = concluded(passed(), attempts)
    assert (open_still.verdict, open_still.reason.kind) == (Verdict.INCONCLUSIVE, "unreproduced")
    needs = Outcome(Verdict.NOT_APPLICABLE, Reason("needs", "needs join, which failed in groups/joins"))
    assert concluded(needs, attempts) == needs, "its cause is a failure of its own"
    assert open_still.anomalies and "Other cases were under way" in open_still.reason.sentence


@pytest.mark.parametrize("names", [("lost-write",), ("lost-write", NO_PROGRESS), ("orphan-partition", "two-owners")])
def test_what_time_does_not_explain_fails_beside_others_too(names: tuple[str, ...]) -> None:
    member = CrowdMember(Crowd(FakeLiveness()), CASES[0])
    member.begin(CASES[0])
    assert member.after(late(*names)) == late(*names)


def test_a_target_that_died_of_one_case_is_no_matter_of_time() -> None:
    liveness = FakeLiveness()
    member = CrowdMember(Crowd(liveness), CASES[0])
    member.begin(CASES[0])
    liveness.dead = True
    assert member.after(late(NO_PROGRESS)).reason.kind == "died"


def test_cases_that_hurt_nodes_or_that_others_rest_on_are_alone() -> None:
    assert why_alone(by_id()["produce/acked-survive-a-kill"]) == "it needs kill, restart"
    assert why_alone(by_id()["produce/base-offset"]) == "other cases rest on what it shows"
    assert why_alone(by_id()["idempotence/lost-ack"]) == ""
    hurting = [case for case in by_id().values() if case.kind == "wire" and case.hurts]
    assert hurting and all(map(why_alone, hurting))


def test_the_same_cases_with_the_same_seeds_whatever_the_number_of_jobs(tmp_path: Path) -> None:
    def told(jobs: int) -> tuple[dict[str, tuple[Verdict, int]], list[RunEvent]]:
        events: list[RunEvent] = []
        place = str(tmp_path / str(jobs))
        select = ("offsets/by-time-*",)
        options = RunOptions("reference", select=select, seed=5, jobs=jobs, run_dir=place, unproven="fail")
        result = run(options, events.append)
        return {one.case: (one.verdict, one.seed) for one in result.results}, events

    one, _ = told(1)
    four, events = told(4)
    assert one == four and len(one) > 5
    order = {name: [type(event) for event in events if _about(event) == name] for name in four}
    assert all(kinds == [CaseStarted, CaseFinished] for kinds in order.values()), order
    assert isinstance(events[0], RunStarted)


def _about(event: RunEvent) -> str:
    return event.result.case if isinstance(event, CaseFinished) else getattr(event, "case", "")


def test_a_session_is_what_the_fake_stands_for() -> None:
    used = ("attempt", "bring_back", "restore", "finish", "tell")
    assert all(callable(getattr(TargetSession, name)) for name in used)
