"""`kafka:VERSION` or `kafka:FOLDER`: Apache Kafka in KRaft mode, one process a node."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from brokertrial.faults.packets import Members
from brokertrial.suites.since import number
from brokertrial.suites.targets import readiness
from brokertrial.suites.targets.address import Address
from brokertrial.suites.targets.apache import jars, jvm, offered, settings, storage
from brokertrial.suites.targets.base import TargetNotBuilt, UnknownTarget
from brokertrial.suites.targets.network.node_network import Listeners
from brokertrial.suites.targets.ports import free_ports
from brokertrial.suites.targets.process import LaunchPlan
from brokertrial.suites.targets.processes import ProcessTarget

OLDEST = (3, 3)
"""The first release whose KRaft mode is meant for use (KIP-833)."""


class Kafka(ProcessTarget):
    """One or three combined nodes (ids 1, 2, 3), ready in about 2 s and 5 s once the caches are warm."""

    scheme = "kafka"
    sets_timers = True
    summary = "Apache Kafka 3.3 or newer (KRaft) from Maven Central, or the folder of an unpacked Kafka"
    examples = ("kafka:4.4.0", "kafka:4.4.0?nodes=3", "kafka:3.3.2", "kafka:/opt/kafka_2.13-4.4.0")
    options: ClassVar[Mapping[str, str]] = {
        "nodes": "1 or 3",
        "mode": "kraft",
        "set": "a broker setting, such as message.max.bytes=2000 (several: separated by commas)",
    }

    def __init__(self, address: Address, workdir: Path) -> None:
        super().__init__(address, workdir)
        self._where = address.where
        self._count = _count(address)
        self._given = address.options["set"].split(",") if "set" in address.options else []
        if not address.where:
            raise UnknownTarget("kafka: needs a version or a folder, such as `kafka:4.4.0`.")
        if not _is_version(address.where) and not Path(address.where).is_dir():
            raise UnknownTarget(f"`{address.where}` is neither a version such as 4.4.0 nor a folder that is there.")
        if _is_version(address.where) and number(address.where) < OLDEST:
            raise TargetNotBuilt(f"{address.text}: KRaft is for use from Kafka 3.3 on; ZooKeeper is not built yet.")
        if self._count > 1:
            self.capabilities |= {"nodes"}
        self.capabilities |= {"version"}
        self._release: jars.KafkaRelease | None = None
        self._finalized: Mapping[str, int] | None = None  # known once it serves

    @property
    def claims(self) -> dict[str, bool]:
        return offered.claims(self.release_number, self._finalized)

    @property
    def release_number(self) -> tuple[int, ...]:
        return self._release.number if self._release else number(self._where)

    def version(self) -> str:
        return self._release.version if self._release else self._where

    @property
    def members(self) -> Members | None:
        nodes = tuple(range(1, self._count + 1))
        return Members(nodes, nodes) if self._count > 2 else None

    def plans(self) -> dict[int, LaunchPlan]:
        java = jvm.find(self.name)
        release = self._release = self.release()
        ports = free_ports(2 * self._count)
        members = [settings.ClusterMember(n + 1, ports[2 * n], ports[2 * n + 1]) for n in range(self._count)]
        if self._network is not None:
            members = [_networked(node, self._network.listeners(node)) for node in self._network.members.brokers]
        flags = [*jvm.FLAGS, *java.use(storage.archived(java, release))]
        run = [str(java.path), *flags, *storage.logging_flags(release, self.workdir), "-cp", release.class_path]
        storage.format_all(run, release, members, self.data, self._given)
        return {
            member.node_id: self.plan(
                member.node_id,
                [*run, "kafka.Kafka", str(storage.folder(self.data, member) / "server.properties")],
                member.address,
            )
            for member in members
        }

    def wait_until_ready(self, within_s: float | None = None) -> None:
        super().wait_until_ready(within_s)
        first = next(iter(self._nodes.values())).address
        readiness.wake_coordinators(first)
        with suppress(readiness.NotYet):
            self._finalized = readiness.ask(first).features

    def release(self) -> jars.KafkaRelease:
        """The jars: fetched the first time that this version is wanted."""
        if _is_version(self._where):
            return jars.fetched(self._where)
        return jars.unpacked(Path(self._where))


def _networked(node_id: int, places: Listeners) -> settings.ClusterMember:
    """A node in a network of its own, with a listener for each kind of peer."""
    host, port = places.inside("clients")
    peers, controllers = places.inside("brokers")[1], places.inside("controllers")[1]
    return settings.ClusterMember(node_id, port, controllers, host, peers, places.outside)


def _is_version(where: str) -> bool:
    return re.fullmatch(r"\d+\.\d+(\.\d+)?", where) is not None


def _count(address: Address) -> int:
    mode = address.options.get("mode", "kraft")
    if mode != "kraft":
        raise TargetNotBuilt(f"{address.text}: mode={mode} is not built yet; a Kafka is run in KRaft mode.")
    nodes = address.options.get("nodes", "1")
    if nodes not in ("1", "3"):
        raise UnknownTarget(f"{address.text}: nodes is 1 or 3, not {nodes}.")
    return int(nodes)
