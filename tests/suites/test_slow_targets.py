"""No case may accuse a healthy target of being slow: nodes take long to start, answers are long on their way."""

from __future__ import annotations

from typing import Any

import pytest

import tests.suites.in_process as alone
import tests.suites.in_process_cluster as cluster
from brokertrial.suites.case import Case, all_cases
from brokertrial.suites.closing_look.look import closing_look
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.proving import mutants
from tests.suites.in_process import InProcess, told, tried
from tests.suites.in_process_cluster import InProcessCluster, Member, tried_in_cluster
from tests.suites.test_mutants_in_process import LONG

pytestmark = pytest.mark.slow

STARTS_S = 9.0
"""Longer than the sessions of groups in our targets (6 s), shorter than any wait for a node."""
ANSWERED_S = 0.2
"""From a request to its answer: brokers that store in a cloud take as long, and machines that are busy."""


def asked(*, several_nodes: bool, restarting: bool = False) -> list[Case]:
    """The wire cases; or those alone in which a node is started again."""
    return [
        case
        for case in all_cases()
        if case.kind == "wire"
        and (not restarting or "restart" in case.needs)
        and "zookeeper" not in case.needs
        and bool(mutants.CLUSTER_NEEDS.intersection(case.needs)) is several_nodes
        and case.id not in LONG
    ]


@pytest.fixture
def slow_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other nodes, and the clients, go on meanwhile."""
    restart = Member.restart

    def member(member: Any) -> None:
        if member.loop is None or member.loop.dead:
            member._cluster.pause(STARTS_S)
        restart(member)

    def node(world: Any) -> None:
        world._past_s += world._now.monotonic() + STARTS_S
        world._begin(world._now.now_ms() + round(STARTS_S * 1000))

    monkeypatch.setattr(Member, "restart", member)
    monkeypatch.setattr(InProcess, "restart", node)


class Line:
    """Answers come no sooner than so long after their request, also where several are asked for at once."""

    def __init__(self, world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self._send, self._receive, self._sent_s = world.send, world.receive, dict[tuple[int, str], list[float]]()
        monkeypatch.setattr(world, "send", lambda *of, **how: self.send(*of, **how))
        monkeypatch.setattr(world, "receive", lambda *of, **how: self.receive(*of, **how))

    def send(self, world: Any, connection: str, *of: Any, **how: Any) -> int:
        sent: int = self._send(world, connection, *of, **how)
        self._sent_s.setdefault((id(world), connection), []).append(_now_s(world))
        return sent

    def receive(self, world: Any, connection: str, *of: Any, **how: Any) -> tuple[bytes, int]:
        frame, received = self._receive(world, connection, *of, **how)
        asked_s = self._sent_s[id(world), connection].pop(0)
        if (early_s := asked_s + ANSWERED_S - _now_s(world)) <= 0:
            return frame, received
        world.pause(early_s)
        return frame, world._later()


def _now_s(world: Any) -> float:
    return float(world.now_s if isinstance(world, InProcessCluster) else world.clock()[0] / 1e9)


@pytest.fixture
def slow_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run has measured it."""
    for world in (InProcess, InProcessCluster):
        Line(world, monkeypatch)
    for module in (alone, cluster):
        monkeypatch.setattr(
            module, "CaseContext", lambda **known: CaseContext(**{**known, "latency_ms": ANSWERED_S * 1000})
        )


@pytest.mark.usefixtures("slow_starts")
@pytest.mark.parametrize("case", asked(several_nodes=True, restarting=True), ids=lambda case: case.id)
def test_a_cluster_whose_nodes_start_slowly_is_not_accused(case, broker_data):
    outcome = tried_in_cluster(case, broker_data, look=closing_look)
    assert outcome.verdict != "fail", told(outcome)


@pytest.mark.usefixtures("slow_starts")
@pytest.mark.parametrize("case", asked(several_nodes=False, restarting=True), ids=lambda case: case.id)
def test_a_broker_that_starts_slowly_is_not_accused(case, broker_data):
    outcome = tried(case, broker_data, look=closing_look)
    assert outcome.verdict != "fail", told(outcome)


@pytest.mark.usefixtures("slow_answers")
@pytest.mark.parametrize("case", asked(several_nodes=True), ids=lambda case: case.id)
def test_a_cluster_that_answers_slowly_is_not_accused(case, broker_data):
    outcome = tried_in_cluster(case, broker_data, look=closing_look)
    assert outcome.verdict != "fail", told(outcome)


@pytest.mark.usefixtures("slow_answers")
@pytest.mark.parametrize("case", asked(several_nodes=False), ids=lambda case: case.id)
def test_a_broker_that_answers_slowly_is_not_accused(case, broker_data):
    outcome = tried(case, broker_data, look=closing_look)
    assert outcome.verdict != "fail", told(outcome)
