"""On a slow machine a node takes longer to start than a session lasts: no case may accuse a healthy broker of that."""

from __future__ import annotations

from typing import Any

import pytest

from brokertrial.suites.case import Case, all_cases
from brokertrial.suites.closing_look.look import closing_look
from brokertrial.suites.proving import mutants
from tests.suites.in_process import InProcess, told, tried
from tests.suites.in_process_cluster import Member, tried_in_cluster

pytestmark = pytest.mark.slow

STARTS_S = 9.0
"""Longer than the sessions of groups in our targets (6 s), shorter than any wait for a node."""


def restarting(several_nodes: bool) -> list[Case]:
    """The wire cases in which a node is started again."""
    return [
        case
        for case in all_cases()
        if case.kind == "wire"
        and "restart" in case.needs
        and "zookeeper" not in case.needs
        and bool(mutants.CLUSTER_NEEDS.intersection(case.needs)) is several_nodes
    ]


@pytest.fixture
def slow_member(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other nodes, and the clients, go on meanwhile."""
    restart = Member.restart

    def slowly(member: Any) -> None:
        if member.loop is None or member.loop.dead:
            member._cluster.pause(STARTS_S)
        restart(member)

    monkeypatch.setattr(Member, "restart", slowly)


@pytest.fixture
def slow_node(monkeypatch: pytest.MonkeyPatch) -> None:
    def slowly(world: Any) -> None:
        world._past_s += world._now.monotonic() + STARTS_S
        world._begin(world._now.now_ms() + round(STARTS_S * 1000))

    monkeypatch.setattr(InProcess, "restart", slowly)


@pytest.mark.usefixtures("slow_member")
@pytest.mark.parametrize("case", restarting(several_nodes=True), ids=lambda case: case.id)
def test_a_healthy_cluster_is_not_accused(case, broker_data):
    outcome = tried_in_cluster(case, broker_data, look=closing_look)
    assert outcome.verdict != "fail", told(outcome)


@pytest.mark.usefixtures("slow_node")
@pytest.mark.parametrize("case", restarting(several_nodes=False), ids=lambda case: case.id)
def test_a_healthy_broker_is_not_accused(case, broker_data):
    outcome = tried(case, broker_data, look=closing_look)
    assert outcome.verdict != "fail", told(outcome)
