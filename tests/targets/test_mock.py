"""librdkafka's mock cluster, in its helper process."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokertrial.suites.targets import open_target, readiness
from brokertrial.suites.targets.processes import ProcessTarget


@pytest.mark.parametrize("nodes", [1, 3])
def test_it_serves_from_addresses_of_its_own(nodes: int, tmp_path: Path) -> None:
    with open_target(f"mock?nodes={nodes}", tmp_path) as target:
        places = [place.rpartition(":") for place in target.bootstrap.split(",")]
        assert len(places) == nodes
        for host, _, port in places:
            assert len(readiness.ask((host, int(port))).brokers) == nodes
        assert target.version().startswith("librdkafka 2.")
        assert target.nodes == {} and "create_topics" not in target.capabilities
        assert ("nodes" in target.capabilities) is (nodes == 3)
    assert not target.alive()


def test_it_is_brought_back_after_its_helper_died(tmp_path: Path) -> None:
    target = open_target("mock?nodes=1", tmp_path)
    assert isinstance(target, ProcessTarget)
    with target:
        target.end_processes()
        assert not target.alive()
        target.recover()
        host, _, port = target.bootstrap.rpartition(":")
        assert readiness.ask((host, int(port))).brokers and target.alive()
