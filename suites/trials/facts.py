"""What the conductor of a trial knows at its end besides what the clients saw: one event of the history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Self

import msgspec
from msgspec.structs import replace

from brokertrial.histories.rows import PartitionId
from brokertrial.suites.probe.failures import ProtocolBroken
from brokertrial.suites.probe.target_condition import WELL, Condition
from brokertrial.suites.result import Evidence

KIND = "conclusion"
LONGEST_HEX = 200_000


class UnreadableResponse(msgspec.Struct, frozen=True):
    """An answer of the broker that could not be read, with its bytes."""

    sentence: str
    evidence: tuple[Evidence, ...] = ()

    @classmethod
    def of(cls, problem: ProtocolBroken) -> Self:
        short = (replace(line, bytes_hex=line.bytes_hex[:LONGEST_HEX]) for line in problem.evidence)
        return cls(problem.sentence, tuple(short))


class TrialFacts(msgspec.Struct):
    """Plain facts; no verdict."""

    latency_ms: float = 0.0
    warm: bool = False
    """Whether the warm-up got as many acknowledgements as it had to."""
    faults_over_ns: int = 0
    sighted: str = ""
    """What was certain as soon as clients saw it, so that the load ended early: see suites/trials/sightings.py."""
    hits: dict[str, int] = {}
    unhealed: dict[str, str] = {}
    failed_windows: dict[str, str] = {}
    alive: bool = True
    """Whether every node lived after the heal."""
    died: bool = False
    """Whether a node was dead, look after look, while no fault held one down; the heal may have started it again."""
    stuck: list[str] = []
    """What made no progress after the heal."""
    behind: list[str] = []
    """Readers that did not reach what was acknowledged."""
    fresh: str = ""
    """What a fresh connection around the proxy met, if one was needed: empty means that it made progress."""
    acked: int = 0
    problems: list[str] = []
    """Clients of ours that failed."""
    unended: list[str] = []
    """Clients that are still in a call: what they did is not all in the history."""
    hung: list[str] = []
    """Calls of the client library that did not come back in their own time; other clients took over."""
    unread: dict[str, str] = {}
    malformed: dict[str, UnreadableResponse] = {}
    """Partitions in whose final read an answer came that no client could read."""
    hanging: dict[str, str] = {}
    """Partitions in which a transaction stayed open although all had ended or timed out."""
    leaks: list[str] = []
    lag_ms: float = 0.0
    condition: Condition = WELL
    """How the target fared after the trial."""

    @property
    def certain(self) -> bool:
        """Whether the verdict cannot become another: dead and killed by nobody, or stuck for everybody."""
        return bool(self.fresh) or self.died or not (self.alive or self.unhealed)

    def take_faults(self, hits: Mapping[str, int], unhealed: Mapping[str, str], failed: Mapping[str, str]) -> None:
        self.hits, self.unhealed, self.failed_windows = dict(hits), dict(unhealed), dict(failed)

    def take_clients(
        self, unended: Iterable[str], problems: Iterable[str], acked: int, hung: Iterable[str] = ()
    ) -> None:
        self.unended, self.problems, self.acked, self.hung = list(unended), list(problems), acked, list(hung)

    def take_final_read(self, incomplete: Mapping[PartitionId, str], hanging: Mapping[PartitionId, str]) -> None:
        self.unread = {f"{topic}-{partition}": why for (topic, partition), why in incomplete.items()}
        self.hanging = {f"{topic}-{partition}": why for (topic, partition), why in hanging.items()}

    def take_malformed(self, malformed: Mapping[PartitionId, ProtocolBroken]) -> None:
        self.malformed = {f"{topic}-{number}": UnreadableResponse.of(why) for (topic, number), why in malformed.items()}

    def take_links(self, leaks: Iterable[object], lag_ms: float) -> None:
        self.leaks, self.lag_ms = [str(leak) for leak in leaks], lag_ms
