"""A case that ends at a wrong answer while a node is away leaves no broker with a setting."""

from __future__ import annotations

import pytest

from brokertrial.suites.case import all_cases
from brokertrial.suites.cases.admin._asked_of_nodes import AskedCluster
from brokertrial.suites.probe.admin import BROKER
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.failures import StatementFalse
from brokertrial.suites.probe.wire import Wire
from tests.suites.in_process import told
from tests.suites.in_process_cluster import InProcessCluster, tried_in_cluster

CASE = next(case for case in all_cases() if case.id == "admin/whatever-comes-next-among-nodes")
WRONG, SET_ON_A_BROKER = "something is wrong while a node is away", 2
"""The source of a setting that one broker has, as DescribeConfigs names it (4 for those of all)."""


@pytest.fixture
def left(monkeypatch):
    """What brokers had of their own when the case was over."""
    found = []
    end = InProcessCluster.end

    def looked_at_and_ended(cluster):
        context = CaseContext(prefix="bt-y", case=CASE.id, latency_ms=0.1, time_ms=0)
        wire = Wire(cluster, context, [one.address for one in cluster.brokers.values()])
        for node in cluster.brokers:
            rows = wire.describe_configs(BROKER, str(node)).must_succeed().struct.results[0].configs
            found.extend((node, row.name, row.value) for row in rows if row.config_source == SET_ON_A_BROKER)
        end(cluster)

    monkeypatch.setattr(InProcessCluster, "end", looked_at_and_ended)
    return found


@pytest.mark.parametrize("seed", range(4))
def test_who_was_away_has_no_settings_of_its_own_either(seed, broker_data, left, monkeypatch):
    known_to_all = AskedCluster.must_be_known_to_all
    away = []

    def wrong_once_one_is_away(cluster):
        if cluster.away is not None and any(cluster.brokers[str(cluster.away)]):
            away.append(cluster.away)
            raise StatementFalse(WRONG)
        known_to_all(cluster)

    monkeypatch.setattr(AskedCluster, "must_be_known_to_all", wrong_once_one_is_away)
    outcome = tried_in_cluster(CASE, broker_data, seed=seed)
    assert outcome.verdict == ("fail" if away else "pass"), told(outcome)
    assert left == []
