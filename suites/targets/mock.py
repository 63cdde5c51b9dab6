"""`mock`: the mock cluster inside librdkafka, in a helper process. A test double with known gaps, not a broker."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from brokertrial.faults.node_control import NodeControl
from brokertrial.suites.targets.address import Address
from brokertrial.suites.targets.base import UnknownTarget
from brokertrial.suites.targets.process import LaunchPlan
from brokertrial.suites.targets.processes import ProcessTarget, python
from brokertrial.suites.targets.readiness import NotYet
from brokertrial.wire.addresses import all_written, parsed


class Mock(ProcessTarget):
    """Known-bad on purpose: it keeps no isolation, no sequences, no lookup by time. Topics appear on use, in memory.

    All its brokers live in one process, on ports that librdkafka chooses: none can be hurt alone, and after a
    recovery the addresses are new ones.
    """

    scheme = "mock"
    summary = "librdkafka's own test double: the known-bad target"
    examples = ("mock", "mock?nodes=1")
    options: ClassVar[Mapping[str, str]] = {"nodes": "how many brokers, default: 3"}
    capabilities = frozenset({"started", "version"})

    def __init__(self, address: Address, workdir: Path) -> None:
        super().__init__(address, workdir)
        if address.where:
            raise UnknownTarget(f"{address.text}: nothing stands after `mock:`; options do, as in `mock?nodes=1`.")
        nodes = address.options.get("nodes", "3")
        if not nodes.isdecimal() or not 1 <= int(nodes) <= 9:
            raise UnknownTarget(f"{address.text}: nodes is a number from 1 to 9, not {nodes}.")
        self._count = int(nodes)
        if self._count > 1:
            self.capabilities = self.capabilities | {"nodes"}
        self._brokers: dict[int, tuple[str, int]] = {}

    def version(self) -> str:
        from confluent_kafka import libversion

        return f"librdkafka {libversion()[0]}"

    @property
    def nodes(self) -> dict[int, NodeControl]:
        return {}

    @property
    def bootstrap(self) -> str:
        return all_written(self._brokers.values())

    def plans(self) -> dict[int, LaunchPlan]:
        return {1: self.plan(1, python("brokertrial.suites.targets.mock_cluster", str(self._count)), ("127.0.0.1", 0))}

    def addresses(self) -> dict[int, tuple[str, int]]:
        helper = self._nodes[1]
        for line in reversed(helper.plan.stdout.read_text().splitlines()):
            places = json.loads(line)["brokers"]
            self._brokers = {int(node): parsed(text) for node, text in places.items()}
            return self._brokers
        raise NotYet("its helper process has not said where it listens")

    @property
    def restartable(self) -> bool:
        return False  # it would be found nowhere that the run knows

    def recover(self) -> None:
        if not self.alive():
            self._nodes[1].kill()
            self._nodes[1].plan.stdout.write_text("")
        super().recover()
