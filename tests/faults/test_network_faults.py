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
from brokertrial.faults.kinds.isolate import isolate
from brokertrial.faults.packets import CLIENTS, Members, NetworkFailed, PacketRule
from brokertrial.faults.schedule import Window
from brokertrial.suites.targets.network.abilities import offered_here
from brokertrial.suites.targets.network.node_network import NodeNetwork
from tests.faults.lonely_nodes import Nodes

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
        if "proxy" not in kind.needs and {"network", "bandwidth", "netem"} & {*kind.needs}:
            assert f"during({name}(" in text, name
    assert CLIENTS not in BROKERS
