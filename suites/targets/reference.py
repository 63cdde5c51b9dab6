"""`reference`, `reference:3`: the bundled broker, one process a node; with a planted bug where one is named.

Several nodes have a controller beside them, a process of its own.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import ClassVar

from brokertrial.faults.node_control import NodeControl
from brokertrial.faults.packets import Members
from brokertrial.suggestion import nearest_or_all
from brokertrial.suites.since import number
from brokertrial.suites.targets import readiness
from brokertrial.suites.targets.address import Address
from brokertrial.suites.targets.base import FEATURES, TargetNotAvailable, UnknownTarget
from brokertrial.suites.targets.node_ids import CONTROLLER, node_ids
from brokertrial.suites.targets.process import LaunchPlan, ProcessNode
from brokertrial.suites.targets.processes import ProcessTarget, python
from brokertrial.wire.ports import free_ports

_LARGEST = 9
_NOT_YET = frozenset({"share-groups"})
_LATER = {"2.1": frozenset({"configs", "consumer-protocol"}), "3.9": frozenset({"consumer-protocol"})}
"""What an emulated release says nothing of: IncrementalAlterConfigs came with 2.3 (KIP-339), KIP-848 with 4.0."""


class Reference(ProcessTarget):
    """Ready within a second, three nodes within three.

    Its claims never shrink: a broker without EndTxn still claims transactions, and fails.
    """

    scheme = "reference"
    sets_timers = True
    summary = "the bundled broker, also with one planted bug"
    examples = ("reference", "reference:3", "reference?mutant=M05", "reference?without=EndTxn")
    options: ClassVar[Mapping[str, str]] = {
        "mutant": "a planted bug, such as M05 or M05:every=3",
        "without": "APIs that it shall not offer, separated by commas",
        "emulate": "the Kafka release whose features it offers, such as 3.9",
        "set": "a broker setting, such as message.max.bytes=2000 (several: separated by commas)",
    }

    def __init__(self, address: Address, workdir: Path) -> None:
        super().__init__(address, workdir)
        self._count = _count(address)
        self._options = address.options
        self.capabilities |= {"version", "chosen-settings"} | ({"nodes"} if self._count > 1 else set())
        self._controller = ("127.0.0.1", 0)

    @property
    def members(self) -> Members | None:
        return Members(node_ids(self._count), (CONTROLLER,)) if self._count > 2 else None

    @property
    def claims(self) -> dict[str, bool]:
        later = _LATER.get(self._options.get("emulate", ""), frozenset())
        return {feature: feature not in _NOT_YET for feature in FEATURES if feature not in later}

    @property
    def release_number(self) -> tuple[int, ...]:
        return number(self._options.get("emulate", ""))

    def version(self) -> str:
        try:
            return metadata.version("brokertrial")
        except metadata.PackageNotFoundError:
            return "not stated"

    def plans(self) -> dict[int, LaunchPlan]:
        if importlib.util.find_spec("brokertrial.reference_impl") is None:
            raise TargetNotAvailable("reference needs the bundled broker, and this installation has none.")
        if mutant := self._options.get("mutant"):
            _must_be_planted(mutant)
        ports = free_ports(self._count + 1)
        self._controller = ("127.0.0.1", ports.pop())
        if self._network is not None:
            self._controller = self._network.listeners(CONTROLLER).inside("controllers")
        return {node: self._broker(node, port) for node, port in zip(node_ids(self._count), ports, strict=True)}

    def helper_plans(self) -> dict[int, LaunchPlan]:
        if self._count == 1:
            return {}
        port = self._controller[1]
        data = str(self.data / f"node-{CONTROLLER}")
        command = python("brokertrial.reference_impl", "controller", "--data", data, "--port", str(port))
        command += ["--host", self._controller[0]]
        return {CONTROLLER: self.plan(CONTROLLER, [*command, *self._told()], self._controller)}

    @property
    def controllers(self) -> dict[int, NodeControl]:
        return {node.node_id: node for node in self._helpers}

    def helper_serves(self, node: ProcessNode) -> None:
        """Each broker that runs has found it again."""
        for broker in self._nodes.values():
            if broker.alive() and not broker.paused():
                self.wait_for(
                    f"the controller of {self.name} did not serve node {broker.node_id} again",
                    partial(readiness.controller_decides, broker.address),
                    node.must_run,
                )

    def _broker(self, node: int, port: int) -> LaunchPlan:
        data = self.data / f"node-{node}"
        command = python("brokertrial.reference_impl", "node", "--data", str(data), "--node-id", str(node))
        address = ("127.0.0.1", port)
        if self._network is None:
            command += ["--port", str(port)]
        else:
            places = self._network.listeners(node)
            address = places.outside
            host, inner = places.inside("clients")
            command += ["--host", host, "--port", str(inner), "--peers", "{}:{}".format(*places.inside("brokers"))]
        if self._count > 1:
            command += ["--controller", "{}:{}".format(*self._controller)]
        command += ["--set", "advertised.listeners=CLIENTS://{}:{}".format(*address)]
        return replace(self.plan(node, [*command, *self._told()], address), setting=("--set={}",))

    def _told(self) -> list[str]:
        """What the user wants of every process, and how a cluster replicates."""
        options = self._options
        given = [f"--{name}={options[name]}" for name in ("mutant", "without", "emulate") if name in options]
        settings = replicated(self._count) if self._count > 1 else []
        settings += options["set"].split(",") if "set" in options else []
        return [*given, *(f"--set={setting}" for setting in settings)]


def replicated(nodes: int) -> list[str]:
    """As a Kafka of so many nodes is set up for a trial."""
    copies = min(3, nodes)
    settings = [f"default.replication.factor={copies}", f"min.insync.replicas={copies - 1}"]
    for topic in ("offsets.topic", "transaction.state.log"):
        settings += [f"{topic}.replication.factor={copies}", f"{topic}.num.partitions=3"]
    settings += ["group.consumer.session.timeout.ms=6000"]  # who is cut off while it leaves is expelled by then
    return [*settings, "auto.create.topics.enable=false", "leader.imbalance.check.interval.seconds=5"]


def _count(address: Address) -> int:
    where = address.where or "1"
    if not where.isdecimal() or not 1 <= int(where) <= _LARGEST:
        raise UnknownTarget(
            f"{address.text}: after `reference:` stands a number of nodes, 1 to {_LARGEST}, not `{address.where}`."
        )
    return int(where)


def mutants() -> dict[str, str]:
    """The planted bugs by id, each with its sentence, as the broker itself lists them."""
    listed = subprocess.run(
        python("brokertrial.reference_impl", "mutants", "--json"),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    said = json.loads(listed.stdout)
    return {str(each["id"]): str(each["story"]) for each in said}


def _must_be_planted(mutant: str) -> None:
    """A misspelt bug must not be a clean broker: refused, with the nearest names."""
    try:
        known = mutants()
    except (subprocess.SubprocessError, ValueError, LookupError, TypeError):
        return  # the node itself refuses what it does not know
    name = mutant.partition(":")[0]
    if name not in known:
        raise UnknownTarget(f"`{name}` is no planted bug of the bundled broker.", hint=nearest_or_all(name, known))
