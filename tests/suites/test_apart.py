"""A node that a wire case cuts off is back at the end of the block, and a cut that no packet met proves nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from brokertrial.faults.journaled_node import journaled
from brokertrial.faults.packets import Members, PacketEffect, PacketRule
from brokertrial.suites.probe.apart import apart
from brokertrial.suites.probe.failures import Unclear
from brokertrial.suites.probe.nodes import Nodes
from brokertrial.suites.probe.topic_view import LastShown


class CountedNetwork:
    """Two brokers and a controller; what is cut, and how many packets are said to have met it."""

    members = Members((1, 2), (0,))

    def __init__(self, met: int) -> None:
        self.met = met
        self.cut: dict[str, set[tuple[int, int]]] = {}

    def apply(self, window: str, effects: Sequence[PacketEffect]) -> None:
        self.cut[window] = {(one.source, one.destination) for one in effects if isinstance(one, PacketRule)}

    def heal(self, window: str) -> int:
        del self.cut[window]
        return self.met


class OnlyAnId:
    node_id = 1


class LiveTape:
    def act(self, _what: str, do: Callable[[], str]) -> str:
        return do()


class SilentWire:
    last_shown = LastShown()
    kept: tuple[BaseException, ...] = ()


def tried(path: Path, network: CountedNetwork | None, inside: Callable[[], None]) -> None:
    with journaled(cast(Any, {1: OnlyAnId()}), path / "journal.jsonl", cast(Any, network)) as controls:
        nodes = Nodes(cast(Any, SilentWire()), cast(Any, LiveTape()), controls)
        with apart(nodes, 1):
            inside()


def test_nothing_passes_in_the_block_and_all_of_it_afterwards(tmp_path: Path) -> None:
    network, seen = CountedNetwork(met=7), list[set[tuple[int, int]]]()
    tried(tmp_path, network, lambda: seen.extend(network.cut.values()))
    assert seen == [{(1, 2), (2, 1), (1, 0), (0, 1)}] and not network.cut


def test_a_case_that_fails_in_the_block_leaves_no_cut(tmp_path: Path) -> None:
    network = CountedNetwork(met=0)
    with pytest.raises(ZeroDivisionError):
        tried(tmp_path, network, lambda: cast(None, 1 / 0))
    assert not network.cut


def test_a_cut_that_no_packet_met_proves_nothing(tmp_path: Path) -> None:
    with pytest.raises(Unclear) as unclear:
        tried(tmp_path, CountedNetwork(met=0), lambda: None)
    assert unclear.value.kind == "no-hit"


def test_a_node_without_a_network_is_not_cut_off(tmp_path: Path) -> None:
    with pytest.raises(Unclear) as unclear:
        tried(tmp_path, None, lambda: None)
    assert unclear.value.kind == "suite" and "no network of its own" in unclear.value.sentence
