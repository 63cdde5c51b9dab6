"""What every target offers: how a broker on trial is started, stopped, hurt, and asked for its version."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from brokertrial.faults.node_control import NodeControl
from brokertrial.faults.packets import NetworkControl
from brokertrial.faults.zookeeper_control import ZooKeeperControl
from brokertrial.suites.exit_status import ExitStatus
from brokertrial.suites.targets.address import Address
from brokertrial.suites.targets.listeners import ListeningProcess

# What a feature is called in [claims] of a file: target, in --claims and in the cases claims/<feature>.
FEATURES: dict[str, str] = {
    "idempotence": "producer ids and sequences: a retry is written once",
    "transactions": "InitProducerId with a transactional id, AddPartitionsToTxn, EndTxn, read_committed",
    "groups": "classic consumer groups: JoinGroup, SyncGroup, Heartbeat, LeaveGroup",
    "consumer-protocol": "KIP-848 groups: ConsumerGroupHeartbeat",
    "share-groups": "KIP-932 share groups",
    "commits": "OffsetCommit and OffsetFetch",
    "admin": "CreateTopics, DeleteTopics, CreatePartitions",
    "configs": "DescribeConfigs, IncrementalAlterConfigs",
    "delete-records": "DeleteRecords moves the log start",
    "retention": "old segments are deleted by time and size",
    "compaction": "cleanup.policy=compact",
    "timestamps": "ListOffsets by time",
}


# What [claims] may say besides: no feature, but what the cluster may do that would else be a failure.
ALLOWANCES: dict[str, str] = {
    "topic-policy": "a policy may refuse topics (POLICY_VIOLATION)",
}


@dataclass(frozen=True, slots=True)
class NodeLogLine:
    """One line that a node wrote, and when (CLOCK_MONOTONIC, to about 50 ms)."""

    node: int
    text: str
    ns: int


class TargetProblem(Exception):
    """Why there is no target to try; one clear sentence, perhaps a hint, and the exit status that it asks for."""

    exit_status: ClassVar[ExitStatus] = ExitStatus.USAGE

    def __init__(self, sentence: str, *, hint: str = "") -> None:
        super().__init__(sentence if not hint else f"{sentence}\n  {hint}")
        self.sentence = sentence
        self.hint = hint

    @property
    def said(self) -> str:
        """The sentence and the hint, without the log lines that may follow them."""
        return super().__str__()


class UnknownTarget(TargetProblem):
    """The target string names nothing that the suite knows, or asks of it what it does not have."""


class TargetNotAvailable(TargetProblem):
    """This machine lacks something that the target needs: Java, Maven, a package."""

    exit_status = ExitStatus.NOT_READY


class TargetNotReady(TargetProblem):
    """The broker was started, or looked for, and never served. Carries its last log lines."""

    exit_status = ExitStatus.NOT_READY

    def __init__(self, sentence: str, *, hint: str = "", last_lines: tuple[str, ...] = ()) -> None:
        super().__init__(sentence, hint=hint)
        self.last_lines = last_lines

    def __str__(self) -> str:
        return "\n".join([super().__str__(), *(f"    | {line}" for line in self.last_lines)])


class Target(ABC):
    """A broker or cluster on trial. A context manager: entering starts it, leaving ends everything that was started.

    A target is one file of this folder: a subclass with a `scheme` (the word before the colon) is found by itself.
    """

    scheme: ClassVar[str]
    summary: ClassVar[str]
    examples: ClassVar[tuple[str, ...]]
    options: ClassVar[Mapping[str, str]] = {}

    capabilities: frozenset[str] = frozenset()
    leaderless: bool = False
    """Any node serves any partition; the leader in a schedule is then the node that the client talks to."""

    volatile: bool = False
    """It keeps nothing: what was acknowledged is gone when its process is, and that is its design."""

    begins_in_network: bool = False
    """Set before `start`: each node is to live in a network namespace from the beginning, where that is possible."""

    sets_timers: bool = False
    """It starts its brokers with settings of ours, which keep their timers short: they must be told as they are."""

    def __init__(self, address: Address, workdir: Path) -> None:
        """Understands the address, or raises a TargetProblem; starts nothing."""
        self.name = address.text
        self.workdir = workdir.resolve()
        self.chosen = frozenset(re.findall(r"[\w.]+(?==)", address.options.get("set", "")))
        """The settings that the user chose in the target string: what they keep from a case is nobody's fault."""
        self.reach: dict[str, str] = {}
        """Advertised addresses (`host:port` or `host`) that do not resolve here, and where they really are."""

    @abstractmethod
    def start(self) -> None:
        """Returns when every node serves; otherwise ends what it started and raises a TargetProblem."""

    @abstractmethod
    def stop(self) -> None:
        """Ends everything that was started; may be called twice."""

    @property
    @abstractmethod
    def bootstrap(self) -> str:
        """`host:port,...` of every node known at the start."""

    @abstractmethod
    def version(self) -> str:
        """What the broker says it is, or `not stated`."""

    @abstractmethod
    def alive(self) -> bool:
        """Whether every node runs and is not paused."""

    @abstractmethod
    def recover(self) -> None:
        """Brings every node back after a case; raises TargetNotReady where that is not possible."""

    @property
    def restartable(self) -> bool:
        """Whether a target that is not well may be started anew."""
        return False

    def restart(self) -> None:
        """Ends every node, however it fares, and starts it with its data; raises TargetNotReady where that fails."""
        raise TargetNotReady(f"{self.name} cannot be started anew from here")

    def served_by(self, place: tuple[str, int]) -> frozenset[ListeningProcess]:
        """Which processes of ours serve there; nobody where they are not ours, or the system does not tell."""
        return frozenset()

    def health_problem(self) -> str:
        """What its own health command finds wrong; empty where it has none, or finds nothing."""
        return ""

    def unreached(self) -> str:
        """Why no client reaches the nodes, where that is this suite's own doing; empty where it is not."""
        return ""

    @property
    def nodes(self) -> dict[int, NodeControl]:
        """The nodes that can be hurt one by one, by the id that Metadata gives them."""
        return {}

    @property
    def controllers(self) -> dict[int, NodeControl]:
        """Controllers that are processes of their own; empty where brokers are controllers, or cannot be reached."""
        return {}

    @property
    def network(self) -> NetworkControl | None:
        """The network that its nodes live in, once `enter_network` was called."""
        return None

    def enter_network(self) -> None:
        """Starts the target anew, without its data, with each node in a network namespace; asked only of targets with
        the capability `network`. Returns when every node serves."""
        raise TargetNotReady(f"{self.name} has no network of its own")

    @property
    def zookeeper(self) -> ZooKeeperControl | None:
        """The ZooKeeper that keeps the state of its cluster; None where it has none, or none that can be read."""
        return None

    @property
    def claims(self) -> dict[str, bool]:
        """What the target says that it has, or has not; what it does not mention is absent here."""
        return {}

    @property
    def release_number(self) -> tuple[int, ...]:
        """The Apache Kafka release that it is, or says to be compatible with: (3, 5); empty where it does not say."""
        return ()

    def log_lines(self, begin_ns: int, end_ns: int) -> list[NodeLogLine]:
        """The log lines of all nodes written in these nanoseconds, in order of time."""
        return []

    def alarms(self, begin_ns: int, end_ns: int) -> list[NodeLogLine]:
        """Those of its log lines that the target itself calls alarming."""
        return []

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()
