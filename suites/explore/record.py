"""All that an exploration leaves in its run folder: what was compared, reached and found."""

from __future__ import annotations

import msgspec

from brokertrial.suites.explore.finding import ShrunkDifference


class ExplorationRecord(msgspec.Struct, frozen=True):
    """The content of findings.json. `is_kafka`: the oracle is Apache Kafka, so that a difference can fail the run."""

    target: str
    oracle: str
    is_kafka: bool
    oracle_version: str
    target_version: str
    seed: int
    minutes: float
    began: str
    only: tuple[str, ...]
    seconds: float
    sequences: int
    requests: int
    accepted: int
    """Requests that the oracle answered without an error."""
    lost: int
    findings: tuple[ShrunkDifference, ...]
    ranges: dict[str, tuple[int, int]]
    """The versions that both offer, by API."""
    reached: tuple[tuple[str, int, str, str, int], ...]
    """API, version, error code, state of the model, and how often."""
    stale: tuple[str, ...] = ()
    """Causes of the file of known differences that were not met."""
    interrupted: bool = False
    given_up: tuple[str, ...] = ()
    """Why pairs of brokers were given up before the time was over: then the run is not green."""

    def encoded(self) -> bytes:
        """As indented JSON."""
        return msgspec.json.format(msgspec.json.encode(self), indent=1)
