"""Every network fault bites in real namespaces, and only where it says; healed, everything is as it was."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from brokertrial.faults.kinds import all_kinds, fault_of
from brokertrial.faults.kinds.bridge import bridge
from brokertrial.faults.kinds.cut_clients import cut_clients
from brokertrial.faults.kinds.cut_controllers import cut_controllers
from brokertrial.faults.kinds.cut_replication import cut_replication
from brokertrial.faults.kinds.flap import flap
from brokertrial.faults.kinds.isolate import isolate
from brokertrial.faults.kinds.latency import latency
from brokertrial.faults.kinds.limit_bandwidth import limit_bandwidth
from brokertrial.faults.kinds.lose_packets import lose_packets
from brokertrial.faults.kinds.one_way import one_way
from brokertrial.faults.kinds.reorder_packets import reorder_packets
from brokertrial.faults.kinds.reset_connections import reset_connections
from brokertrial.faults.kinds.ring import ring
from brokertrial.faults.packets import Members, NetworkFailed, PacketRule
from brokertrial.faults.schedule import Window
from brokertrial.suites.targets.network.abilities import offered_here
from brokertrial.suites.targets.network.node_network import NodeNetwork
from tests.faults.lonely_nodes import PACKETS, PATIENCE_S, Nodes

pytestmark = pytest.mark.skipif("network" not in offered_here(), reason="no network namespaces on this machine")
BROKERS, CONTROLLER = (1, 2, 3), 0


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    network = NodeNetwork.made(Members(BROKERS, (CONTROLLER,)))
    agents = Nodes(network)
    try:
        yield agents
    finally:
        agents.close()
        network.close()


@pytest.fixture
def during(nodes: Nodes) -> Iterator[Any]:
    """Does what a window says to these nodes, until the test is over; then nothing of it may be left."""
    done: list[str] = []

    def begin(window: Window, *targets: int) -> None:
        done.append(f"w{len(done)}")
        fault: Any = fault_of(window)
        nodes.network.apply(done[-1], fault.effects(targets, nodes.network.members))

    yield begin
    for window in done:
        nodes.network.heal(window)
    assert nodes.network.left() == frozenset() and nodes.state(1, 2) == nodes.state(2, 1) == "reached"


def reached(nodes: Nodes, service: str = "brokers", between: tuple[int, ...] = BROKERS) -> set[tuple[int, int]]:
    """The pairs of nodes of which the first one gets an answer from the second."""
    return {(a, b) for a in between for b in between if a != b and nodes.state(a, b, service) == "reached"}


def test_without_a_fault_all_reach_all(nodes: Nodes) -> None:
    assert len(reached(nodes)) == 6
    assert [nodes.client(node) for node in BROKERS] == ["reached"] * 3


def test_an_isolated_node_is_cut_off_from_all_nodes_and_not_from_clients(nodes: Nodes, during: Any) -> None:
    during(isolate(1), 1)
    assert reached(nodes, between=(1, 2, 3)) == {(2, 3), (3, 2)}
    assert nodes.state(1, CONTROLLER, "controllers") == nodes.state(CONTROLLER, 1) == "silent"
    assert nodes.client(1) == nodes.client(2) == "reached"
    assert nodes.network.hits()["w0"] > 0


@pytest.mark.parametrize("direction", ["outgoing", "incoming"])
def test_one_way_loses_packets_of_one_direction(nodes: Nodes, during: Any, direction: Any) -> None:
    during(one_way(1, direction), 1)
    assert reached(nodes) == {(2, 3), (3, 2)}  # a connection takes both directions
    assert nodes.hears(2, 1) is (direction == "incoming")
    assert nodes.hears(1, 2) is (direction == "outgoing")


def test_a_bridge_sees_all(nodes: Nodes, during: Any) -> None:
    during(bridge(2), 2)
    assert reached(nodes) == {(1, 2), (2, 1), (2, 3), (3, 2)}
    assert nodes.state(1, CONTROLLER, "controllers") == nodes.client(3) == "reached"


def test_in_a_ring_each_broker_hears_the_one_before_it(nodes: Nodes, during: Any) -> None:
    during(ring(), 1)
    assert reached(nodes) == set()
    heard = {(a, b) for a in BROKERS for b in BROKERS if a != b and nodes.hears(b, a)}
    assert heard == {(1, 2), (2, 3), (3, 1)}


def test_a_node_is_cut_off_from_the_controllers_alone(nodes: Nodes, during: Any) -> None:
    during(cut_controllers(1), 1)
    assert nodes.state(1, CONTROLLER, "controllers") == "silent"
    assert nodes.state(2, CONTROLLER, "controllers") == nodes.client(1) == "reached" and len(reached(nodes)) == 6


def test_a_node_is_cut_off_from_replication_alone(nodes: Nodes, during: Any) -> None:
    during(cut_replication(1), 1)
    assert reached(nodes) == {(2, 3), (3, 2)} and len(reached(nodes, "clients")) == 6
    assert nodes.state(1, CONTROLLER, "controllers") == nodes.client(1) == "reached"


def test_a_node_is_cut_off_from_its_clients_alone(nodes: Nodes, during: Any) -> None:
    during(cut_clients(1), 1)
    assert nodes.client(1) == "silent" and nodes.client(2) == "reached"
    assert len(reached(nodes)) == 6 and nodes.state(1, CONTROLLER, "controllers") == "reached"


def test_a_node_that_flaps_is_cut_off_as_one_that_is_isolated(nodes: Nodes, during: Any) -> None:
    during(flap(1), 1)
    assert reached(nodes) == {(2, 3), (3, 2)}


def test_connections_are_reset_at_once(nodes: Nodes, during: Any) -> None:
    during(reset_connections(1), 1)
    asked = [nodes.ask(1, 2), nodes.ask(3, 1)]
    assert [one["state"] for one in asked] == ["reset", "reset"] and nodes.state(2, 3) == "reached"
    assert all(one["took_s"] < PATIENCE_S for one in asked)


def test_a_share_of_the_packets_is_lost(nodes: Nodes, during: Any) -> None:
    during(lose_packets(1, percent=40), 1)
    assert 0 < nodes.datagrams(1, 2) < PACKETS > nodes.datagrams(3, 1) > 0
    assert nodes.datagrams(2, 3) == PACKETS


@pytest.mark.skipif("bandwidth" not in offered_here(), reason="no tbf in this kernel")
def test_a_narrow_line_takes_its_time(nodes: Nodes, during: Any) -> None:
    before = nodes.ask(1, 2, size=60_000)["took_s"]
    during(limit_bandwidth(1, kbit_per_s=500), 1)
    narrow = nodes.ask(1, 2, size=60_000)
    assert narrow["state"] == "reached" and narrow["took_s"] > max(0.6, before)
    assert nodes.network.hits()["w0"] > 0


if "netem" in offered_here():  # which no package brings to a kernel that lacks it: no skip that CI could mend

    def test_packets_are_late(nodes: Nodes, during: Any) -> None:
        during(latency(1, 80), 1)
        assert nodes.ask(2, 1)["took_s"] > 0.3 and nodes.network.hits()["w0"] > 0  # four packets in turn, at the least

    def test_packets_overtake(nodes: Nodes, during: Any) -> None:
        during(reorder_packets(1, percent=30), 1)
        assert nodes.ask(2, 1)["state"] == "reached" and nodes.network.hits()["w0"] > 0


def test_a_rule_that_meets_nothing_has_no_hit(nodes: Nodes) -> None:
    nodes.network.apply("idle", [PacketRule(3, 2, "controllers")])
    assert nodes.state(3, 2, "brokers") == "reached"
    assert nodes.network.hits()["idle"] == 0
    assert nodes.network.heal("idle") == 0


def test_what_the_kernel_does_not_take_is_told(nodes: Nodes) -> None:
    with pytest.raises(NetworkFailed, match="nft"):
        nodes.network.apply('" nonsense', [PacketRule(1, 2)])
    assert nodes.network.left() == frozenset()


def test_a_network_ends_with_whoever_made_it() -> None:
    code = (
        "import os; from brokertrial.faults.packets import Members, PacketRule\n"
        "from brokertrial.suites.targets.network.node_network import NodeNetwork\n"
        "network = NodeNetwork.made(Members((1, 2), ())); network.apply('f1', [PacketRule(1, 2)])\n"
        "print(network._gateway.pid, *(space.pid for space in network._spaces.values()), flush=True)\n"
        "os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    held = [Path(f"/proc/{number}/stat") for number in done.stdout.split()]
    assert len(held) == 4, done.stderr
    deadline = time.monotonic() + 10
    while any(path.exists() and path.read_text().rpartition(")")[2].split()[0] != "Z" for path in held):
        assert time.monotonic() < deadline, "a process of the network is left"
        time.sleep(0.05)


def test_every_network_kind_has_its_proof() -> None:
    """A kind that no test of this file drives is a kind that may do nothing."""
    text = Path(__file__).read_text()
    for name, kind in all_kinds().items():
        if "proxy" not in kind.needs and {"network", "bandwidth", "latency", "netem"} & {*kind.needs}:
            assert f"during({name}(" in text, name
