"""`kafka:VERSION` or `kafka:FOLDER`: Apache Kafka in KRaft or ZooKeeper mode, one process a node."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar

from brokertrial.faults.node_control import NodeControl
from brokertrial.faults.packets import Members
from brokertrial.faults.zookeeper_control import ZooKeeperControl
from brokertrial.suites.since import number
from brokertrial.suites.targets import readiness
from brokertrial.suites.targets.address import Address
from brokertrial.suites.targets.apache import jars, jvm, offered, settings, storage, zookeeper
from brokertrial.suites.targets.apache.zookeeper import ZooKeeperServer
from brokertrial.suites.targets.base import UnknownTarget
from brokertrial.suites.targets.logs import LogWatch
from brokertrial.suites.targets.node_ids import CONTROLLER, node_ids
from brokertrial.suites.targets.process import LaunchPlan, ProcessNode
from brokertrial.suites.targets.processes import ProcessTarget
from brokertrial.wire.ports import free_ports


class Kafka(ProcessTarget):
    """One or three nodes (ids 0, 2, 3), ready in about 2 s and 5 s once the caches are warm.

    In KRaft mode each node is broker and controller, or controllers run beside them; in ZooKeeper mode the servers of
    the ensemble do.
    """

    scheme = "kafka"
    sets_timers = True
    start_within_s = 180.0
    """Three JVMs on a machine with much else to do have taken more than a minute; one that ended is noticed at once."""
    summary = "Apache Kafka 2.8 or newer from Maven Central, or the folder of an unpacked Kafka"
    examples = (
        *("kafka:4.4.0", "kafka:4.4.0?nodes=3", "kafka:4.4.0?nodes=3&controllers=3", "kafka:3.3.2"),
        *("kafka:3.9.2?mode=zk&nodes=3&ensemble=3", "kafka:/opt/kafka_2.13-4.4.0"),
    )
    options: ClassVar[Mapping[str, str]] = {
        "nodes": "1 or 3",
        "mode": "kraft (from 3.3 on) or zk (2.8 to 3.9)",
        "controllers": "1 or 3 processes that are controllers alone (mode=kraft; default: brokers are)",
        "ensemble": "ZooKeeper servers: 1 or 3 (mode=zk)",
        "set": "a broker setting, such as message.max.bytes=2000 (several: separated by commas)",
    }

    def __init__(self, address: Address, workdir: Path) -> None:
        super().__init__(address, workdir)
        self._where = address.where
        self._zookeepers = _zookeepers(address)
        self._count = _one_or_three(address, "nodes")
        self._controllers = _controllers(address)
        self._given = address.options["set"].split(",") if "set" in address.options else []
        if not address.where:
            raise UnknownTarget("kafka: needs a version or a folder, such as `kafka:4.4.0`.")
        if not _is_version(address.where) and not Path(address.where).is_dir():
            raise UnknownTarget(f"`{address.where}` is neither a version such as 4.4.0 nor a folder that is there.")
        if _is_version(address.where):
            self._must_have_the_mode(number(address.where))
        if self._count > 1:
            self.capabilities |= {"nodes"}
        if self._zookeepers:
            self.capabilities |= {"zookeeper"}
        self.capabilities |= {"version", "chosen-settings"}
        self._servers: tuple[ZooKeeperServer, ...] = ()
        self._apart: list[settings.ClusterMember] = []
        self._further: list[ProcessNode] = []
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
        nodes = node_ids(self._count)
        return Members(nodes, self._controllers or nodes) if self._count > 2 and not self._zookeepers else None

    @property
    def controllers(self) -> dict[int, NodeControl]:
        return {node.node_id: node for node in self._helpers if node.node_id in self._controllers}

    @property
    def zookeeper(self) -> ZooKeeperControl | None:
        if not self._servers:
            return None
        servers = {node.node_id: node for node in self._helpers}
        return ZooKeeperControl(zookeeper.hosts(self._servers) + zookeeper.CHROOT, servers, self._further_broker)

    def plans(self) -> dict[int, LaunchPlan]:
        java = jvm.find(self.name)
        release = self._release = self.release()
        self._must_have_the_mode(release.number)
        apart = len(self._controllers)
        ports = free_ports((1 if apart else 2) * self._count + apart + 3 * self._zookeepers)
        members = [
            settings.ClusterMember(node, ports.pop(), 0 if apart else ports.pop()) for node in node_ids(self._count)
        ]
        self._apart = [settings.ClusterMember(node, 0, ports.pop()) for node in self._controllers]
        if self._network is not None:
            members = [self._networked(node) for node in self._network.members.brokers]
            self._apart = [self._networked(node) for node in self._controllers]
        self._servers = zookeeper.members(ports)
        run = self._java(java, release)
        if self._servers:
            connect = zookeeper.hosts(self._servers) + zookeeper.CHROOT
            storage.write_broker_settings(members, self.data, connect, self._given)
        else:
            storage.format_all(run, release, [*members, *self._apart], self.data, self._given)
        return {member.node_id: self._broker(run, member) for member in members}

    def end_processes(self) -> None:
        for node in self._further:
            node.kill()
        super().end_processes()

    def helper_plans(self) -> dict[int, LaunchPlan]:
        run = self._java(jvm.find(self.name), self.release())
        apart = {member.node_id: self._broker(run, member) for member in self._apart}
        return {server.server_id: self._zookeeper(server) for server in self._servers} | apart

    def _java(self, java: jvm.Java, release: jars.KafkaRelease) -> list[str]:
        """The command that runs a class of this release."""
        flags = [*jvm.FLAGS, *java.use(storage.archived(java, release))]
        return [str(java.path), *flags, *storage.logging_flags(release, self.workdir), "-cp", release.class_path]

    def _broker(self, run: list[str], member: settings.ClusterMember) -> LaunchPlan:
        command = [*run, "kafka.Kafka", str(storage.folder(self.data, member) / "server.properties")]
        plan = replace(self.plan(member.node_id, command, member.address), setting=("--override", "{}"))
        if not self._servers:
            return plan
        return replace(
            plan, before_restart=zookeeper.registration_ended(zookeeper.hosts(self._servers), member.node_id)
        )

    def _networked(self, node_id: int) -> settings.ClusterMember:
        """A node in a network of its own, with a listener for each kind of peer that it has."""
        assert self._network is not None, "asked only of nodes in a network"
        places = self._network.listeners(node_id)
        host, port = places.inside("clients")
        controller = places.inside("controllers")[1]
        if node_id in self._controllers:
            return settings.ClusterMember(node_id, 0, controller, host)
        peers = places.inside("brokers")[1]
        return settings.ClusterMember(
            node_id, port, 0 if self._controllers else controller, host, peers, places.outside
        )

    def _zookeeper(self, server: ZooKeeperServer) -> LaunchPlan:
        name = f"zookeeper-{server.server_id}"
        folder, log = self.data / name, self.workdir / name
        settings_file = zookeeper.prepare(server, self._servers, folder)
        command = [*self._java(jvm.find(self.name), self.release()), zookeeper.MAIN_CLASS, str(settings_file)]
        address = ("127.0.0.1", server.port)
        return LaunchPlan(command, address, folder, folder, log.with_suffix(".out"), log.with_suffix(".err"))

    def _further_broker(self, node_id: int, chroot: str) -> ProcessNode:
        name = f"further-{len(self._further) + 1}"
        folder, log = self.data / name, self.workdir / name
        port, unused = free_ports(2)
        member = settings.ClusterMember(node_id, port, unused)
        connect = zookeeper.hosts(self._servers) + (chroot or zookeeper.CHROOT)
        storage.write_broker_settings([member], folder, connect, self._given)
        run = self._java(jvm.find(self.name), self.release())
        command = [*run, "kafka.Kafka", str(storage.folder(folder, member) / "server.properties")]
        plan = LaunchPlan(command, member.address, folder, folder, log.with_suffix(".out"), log.with_suffix(".err"))
        closed = LogWatch()  # its lines are none of the node that has the same id
        closed.close()
        self._further.append(ProcessNode(node_id, plan, self.node_serves, closed))
        return self._further[-1]

    def _must_have_the_mode(self, release: tuple[int, ...]) -> None:
        """Raises UnknownTarget where that release does not run in the mode that is asked for."""
        if self._zookeepers and not jars.OLDEST_ZOOKEEPER <= release < (4, 0):
            raise UnknownTarget(f"{self.name}: mode=zk is for Kafka 2.8 to 3.9; 4.0 has no ZooKeeper any more.")
        if not self._zookeepers and release < jars.OLDEST_KRAFT:
            hint = f"Try `{self.name.partition('?')[0]}?mode=zk`."
            raise UnknownTarget(f"{self.name}: KRaft is for use from Kafka 3.3 on.", hint=hint)

    def wait_until_ready(self, within_s: float | None = None) -> None:
        super().wait_until_ready(within_s)
        first = next(iter(self._nodes.values())).address
        readiness.wake_coordinators(first)
        with suppress(readiness.NotYet):
            self._finalized = readiness.ask(first).features

    def helper_serves(self, node: ProcessNode) -> None:
        """A server that is started while most of its ensemble is down serves once others are started too; a controller
        once the brokers that run have found one again."""
        if node.node_id in self._controllers:
            self._must_decide(node)
            return
        majority = 2 * sum(each.alive() for each in self._helpers) > len(self._helpers)
        self.wait_for(
            f"ZooKeeper server {node.node_id} did not serve",
            lambda: zookeeper.serves(node.address) if majority else zookeeper.answers(node.address),
            node.must_run,
        )

    def _must_decide(self, controller: ProcessNode) -> None:
        if 2 * sum(each.alive() for each in self._helpers) <= len(self._helpers):
            return
        for broker in self._nodes.values():
            if broker.alive() and not broker.paused():
                self.wait_for(
                    f"the controllers of {self.name} did not serve node {broker.node_id} again",
                    partial(readiness.controller_decides, broker.address),
                    controller.must_run,
                )

    def release(self) -> jars.KafkaRelease:
        """The jars: fetched the first time that this version is wanted."""
        if _is_version(self._where):
            return jars.fetched(self._where)
        return jars.unpacked(Path(self._where))


def _is_version(where: str) -> bool:
    return re.fullmatch(r"\d+\.\d+(\.\d+)?", where) is not None


def _zookeepers(address: Address) -> int:
    """How many ZooKeeper servers are asked for: none in KRaft mode."""
    mode = address.options.get("mode", "kraft")
    if mode not in ("kraft", "zk"):
        raise UnknownTarget(f"{address.text}: mode is kraft or zk, not {mode}.")
    if mode == "kraft" and "ensemble" in address.options:
        raise UnknownTarget(f"{address.text}: an ensemble goes with mode=zk.")
    return _one_or_three(address, "ensemble") if mode == "zk" else 0


def _controllers(address: Address) -> tuple[int, ...]:
    """The ids of those that are no brokers: none where each broker is a controller, too."""
    if "controllers" not in address.options:
        return ()
    if _zookeepers(address):
        raise UnknownTarget(f"{address.text}: controllers go with mode=kraft.")
    return tuple(range(CONTROLLER, CONTROLLER + _one_or_three(address, "controllers")))


def _one_or_three(address: Address, option: str) -> int:
    count = address.options.get(option, "1")
    if count not in ("1", "3"):
        raise UnknownTarget(f"{address.text}: {option} is 1 or 3, not {count}.")
    return int(count)
