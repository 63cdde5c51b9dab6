"""A cluster whose nodes live in network namespaces: reached by ports of this machine, restarted where they were."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from brokertrial.faults.packets import PacketRule
from brokertrial.suites.targets import open_target, readiness
from brokertrial.suites.targets.network.abilities import offered_here
from brokertrial.suites.targets.network.node_network import NodeNetwork

pytestmark = pytest.mark.skipif("network" not in offered_here(), reason="no network namespaces on this machine")


def test_nodes_live_in_namespaces_and_come_back_there(tmp_path: Path) -> None:
    target = open_target("reference:3", tmp_path)
    target.begins_in_network = True
    with target:
        assert target.network is not None and target.network.members.controllers == (100,)
        host, port = target.bootstrap.split(",")[0].split(":")
        place = (host, int(port))
        assert host == "127.0.0.1" and sorted(readiness.ask(place).brokers) == [0, 2, 3]
        before = target.served_by(place)
        target.nodes[0].kill()
        target.nodes[0].restart()
        assert before and target.served_by(place) and not before & target.served_by(place)
        target.network.apply("f1", [PacketRule(0, 2)])
        target.enter_network()
        assert target.network.left() == frozenset(), "a network that is made anew has no fault of the old one"
        assert target.alive()
    assert not target.alive()


def test_a_gateway_that_ends_is_ours_and_is_put_in_place_again(tmp_path: Path) -> None:
    target = open_target("reference:3", tmp_path)
    target.begins_in_network = True
    with target:
        network = target.network
        assert isinstance(network, NodeNetwork) and target.unreached() == ""
        os.kill(network.gateway_pid, signal.SIGABRT)
        os.waitid(os.P_PID, network.gateway_pid, os.WEXITED | os.WNOWAIT)
        assert target.unreached() == "the gateway to its nodes ended by itself (status -6)"
        assert target.alive(), "its nodes have not noticed"
        target.recover()
        assert target.unreached() == ""
        target.wait_until_ready()
