"""`image:NAME`, `image:BROKER.toml`: a broker in containers, one a node, in the network of this machine."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from brokertrial.suites.capabilities import FORGETTING
from brokertrial.suites.since import number
from brokertrial.suites.targets import readiness
from brokertrial.suites.targets.address import Address
from brokertrial.suites.targets.apache import offered
from brokertrial.suites.targets.apache.settings import ClusterMember
from brokertrial.suites.targets.apache.storage import new_uuid
from brokertrial.suites.targets.base import FEATURES, UnknownTarget
from brokertrial.suites.targets.brokerfile import BrokerFile, fill
from brokertrial.suites.targets.containers import recipes
from brokertrial.suites.targets.containers.recipes import Told
from brokertrial.suites.targets.containers.target import ContainerTarget
from brokertrial.suites.targets.node_ids import CONTROLLER, node_ids
from brokertrial.suites.targets.reference import replicated
from brokertrial.wire.addresses import all_written
from brokertrial.wire.ports import free_ports

if TYPE_CHECKING:
    from brokertrial.suites.targets.containers.node import ContainerPlan



class Image(ContainerTarget):
    """Apache Kafka's own image, one that `brokertrial image build` made, or another vendor's by a TOML file."""

    scheme = "image"
    summary = "a broker in containers: Apache Kafka's image, one made here, or another's (a TOML file)"
    examples = ("image:apache/kafka:4.4.0", "image:brokertrial/kafka:4.4.0?nodes=3", "image:broker.toml")
    options: ClassVar[Mapping[str, str]] = {
        "nodes": "1 or 3",
        "memory": "of each container, such as 768m",
        "cpus": "of each container, such as 0.5",
        "set": "a broker setting, such as message.max.bytes=2000 (several: separated by commas)",
    }
    capabilities = frozenset({"started", "kill", "terminate", "pause", "restart", "create_topics", "settings", "logs"})

    def __init__(self, address: Address, workdir: Path) -> None:
        super().__init__(address, workdir)
        if not address.where:
            raise UnknownTarget("image: needs an image, such as `image:apache/kafka:4.4.0`, or a TOML file.")
        self.file = _file(address)
        self._image = self.file.image if self.file else address.where
        self._count = self.file.nodes if self.file else _count(address)
        self._given = address.options["set"].split(",") if "set" in address.options else []
        self._limits = _limits(address)
        self._labels: Mapping[str, str] = {}
        self._finalized: Mapping[str, int] | None = None
        self._controller: tuple[str, int] | None = None
        self.capabilities |= {"version"} | ({"nodes"} if self._count > 1 else set())
        self.sets_timers = self.file is None
        if self.file:
            self._take(self.file)

    def _take(self, file: BrokerFile) -> None:
        self.start_within_s, self.leaderless, self.volatile = file.ready_within_s, file.leaderless, file.volatile
        self.reach = dict(file.reach)
        if file.volatile:
            self.capabilities -= FORGETTING

    @property
    def claims(self) -> dict[str, bool]:
        if self.file:
            return dict(self.file.claims)
        if self._recipe == recipes.REFERENCE:
            return {feature: feature != "share-groups" for feature in FEATURES}
        return offered.claims(self.release_number, self._finalized) if self.release_number else {}

    @property
    def release_number(self) -> tuple[int, ...]:
        if self.file:
            return self.file.release
        return () if self._recipe == recipes.REFERENCE else number(self.version())

    def version(self) -> str:
        return self._labels.get(recipes.RELEASE) or _tag(self._image) or "not stated"

    @property
    def _recipe(self) -> str:
        return self._labels.get(recipes.RECIPE, recipes.APACHE)

    def plans(self) -> dict[int, ContainerPlan]:
        from brokertrial.suites.targets.containers.engine import must_have

        self._labels = must_have(self._client, self._image).labels or {}
        ports = free_ports(2 * self._count)
        ids = node_ids(self._count) if not self.file else range(1, self._count + 1)  # a file counts them
        members = [ClusterMember(node, ports.pop(), ports.pop()) for node in ids]
        if self.file:
            return {each.node_id: self._plan(each, self._by_file(self.file, each, members)) for each in members}
        if self._recipe == recipes.REFERENCE:
            self._controller = ("127.0.0.1", members[0].controller_port) if self._count > 1 else None
            given = self._settings
            told = {each: recipes.bundled_broker(each.node_id, each.port, self._controller, given) for each in members}
        else:
            cluster = new_uuid()
            told = {each: recipes.apache_kafka(each, members, cluster, self._given) for each in members}
        return {each.node_id: self._plan(each, told[each]) for each in members}

    def helper_plans(self) -> dict[int, ContainerPlan]:
        if self._controller is None:
            return {}
        told = recipes.bundled_controller(self._controller[1], self._settings)
        return {CONTROLLER: self._plan(ClusterMember(CONTROLLER, self._controller[1], 0), told)}

    def served(self) -> None:
        first = next(iter(self._nodes.values())).address
        if self.sets_timers:
            readiness.wake_coordinators(first)
        with suppress(readiness.NotYet):
            self._finalized = readiness.ask(first).features

    def _by_file(self, file: BrokerFile, member: ClusterMember, members: list[ClusterMember]) -> Told:
        values: dict[str, object] = {
            "node": member.node_id,
            "port": member.port,
            "ports": ",".join(str(each.port) for each in members),
            "peers": all_written(each.address for each in members),
            "data": recipes.DATA,
            "controller_port": member.controller_port,
            "controllers": all_written((each.host, each.controller_port) for each in members),
        }
        environment = dict(zip(file.environment, fill(tuple(file.environment.values()), values), strict=True))
        return Told(environment, fill(file.start, values))

    @property
    def _settings(self) -> list[str]:
        return (replicated(self._count) if self._count > 1 else []) + self._given

    def _plan(self, member: ClusterMember, told: Told) -> ContainerPlan:
        from brokertrial.suites.targets.containers.node import ContainerPlan

        log = self.workdir / f"node-{member.node_id}.out"
        more: dict[str, Any] = {}
        if self.file:
            more = {"stop_within_s": self.file.stop_within_s, "stop_signal": self.file.stop_signal.name}
        return ContainerPlan(self._image, member.address, log, told.command, told.environment, self._limits, **more)


def _file(address: Address) -> BrokerFile | None:
    if not address.where.endswith(".toml"):
        return None
    file = BrokerFile.read(Path(address.where).resolve())
    if not file.image:
        hint = f"Without one it is `file:{address.where}`."
        raise UnknownTarget(f"{address.text}: the file names no `image`.", hint=hint)
    if wrong := [option for option in ("nodes", "set") if option in address.options]:
        raise UnknownTarget(f"{address.text}: {wrong[0]} is for the file to say.")
    return file


def _count(address: Address) -> int:
    count = address.options.get("nodes", "1")
    if count not in ("1", "3"):
        raise UnknownTarget(f"{address.text}: nodes is 1 or 3, not {count}.")
    return int(count)


def _limits(address: Address) -> dict[str, Any]:
    limits: dict[str, Any] = {}
    if memory := address.options.get("memory"):
        limits["mem_limit"] = memory
    if cpus := address.options.get("cpus"):
        try:
            limits["nano_cpus"] = int(float(cpus) * 1e9)
        except ValueError:
            raise UnknownTarget(f"{address.text}: cpus is a number, such as 0.5, not {cpus}.") from None
    return limits


def _tag(image: str) -> str:
    name, colon, tag = image.rpartition(":")
    return tag if colon and "/" not in tag and name else ""
