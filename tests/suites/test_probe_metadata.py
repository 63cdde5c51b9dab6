"""A Metadata answer without nodes, as a cluster gives it while all of its nodes are fenced for a moment."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokertrial.suites.probe import core
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.failures import BrokerAtFault
from brokertrial.suites.probe.wire import Wire
from tests.suites.in_process import NODE, NOW_MS, InProcess


class Fenced(Wire):
    """A probe that is shown no node so many times."""

    times = 0

    def _metadata(self, topic, *, create=False, node=None):
        struct = super()._metadata(topic, create=create, node=node)
        if self.times:
            self.times -= 1
            struct.brokers = []
        return struct


@pytest.fixture
def wire(tmp_path: Path):
    world = InProcess(tmp_path)
    yield Fenced(world, CaseContext(prefix="bt-x", case="area/name", time_ms=NOW_MS), [world.address])
    world.end()


def test_who_knows_no_node_yet_asks_again(wire: Fenced) -> None:
    wire.times = 3
    assert wire.nodes == [NODE]


def test_who_knows_the_nodes_keeps_them(wire: Fenced) -> None:
    assert wire.nodes == [NODE]
    wire.times = 1
    wire.refresh_metadata()
    assert wire.nodes == [NODE] and wire.times == 0


def test_a_cluster_that_never_names_a_node_is_at_fault(wire: Fenced, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "RETRY_S", 2.0)
    wire.times = 1_000
    with pytest.raises(BrokerAtFault, match="names no node"):
        _ = wire.nodes
