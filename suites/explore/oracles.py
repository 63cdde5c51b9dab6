"""Which broker is asked beside the target, and with which settings both are started."""

from __future__ import annotations

from pathlib import Path

from brokertrial.suites.targets import Target, TargetProblem, known_targets, open_target
from brokertrial.suites.targets.address import Address
from brokertrial.suites.targets.apache import jvm

NEWEST = "4.4.0"
#: The last patch of each release line.
LINES: dict[tuple[int, ...], str] = {
    (3, 3): "3.3.2", (3, 4): "3.4.1", (3, 5): "3.5.2", (3, 6): "3.6.2", (3, 7): "3.7.2", (3, 8): "3.8.1",
    (3, 9): "3.9.2", (4, 0): "4.0.1", (4, 1): "4.1.2", (4, 2): "4.2.2", (4, 3): "4.3.1", (4, 4): NEWEST,
}  # fmt: skip
# Nothing is cleaned and no session ends while a sequence runs: when that happens is nobody's promise. Partitions of
# KIP-848 groups are handed round at once, not once a second; a Kafka that got no CPU for a while is not fenced for it.
# All groups share one partition: a group that only a refused commit made shows once anything is written to its own.
_CALM = {
    "offsets.topic.num.partitions": "1",
    "offsets.retention.check.interval.ms": "600000",
    "log.retention.check.interval.ms": "600000",
    "group.consumer.max.session.timeout.ms": "600000",
    "group.consumer.session.timeout.ms": "300000",
}
_CALM_KAFKA = {"group.consumer.assignment.interval.ms": "0", "broker.session.timeout.ms": "600000"}
#: Of share groups (KIP-932): nor are records that were acquired free again by a clock.
_CALM_SHARES = {
    "group.share.max.session.timeout.ms": "600000",
    "group.share.session.timeout.ms": "300000",
    "group.share.max.record.lock.duration.ms": "600000",
    "group.share.record.lock.duration.ms": "600000",
    "group.share.assignment.interval.ms": "0",
}
_CALM_STREAMS = {
    "group.streams.max.session.timeout.ms": "600000",
    "group.streams.session.timeout.ms": "300000",
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.assignment.interval.ms": "0",
}
#: The releases from which on Kafka knows settings of KIP-848 groups, of share and streams groups, and of when
#: groups are assigned.
_KIP_848, _SHARES, _ASSIGNMENT_INTERVAL = (3, 7), (4, 1), (4, 3)


def default_oracle(target: Target) -> str:
    """Apache Kafka where there is Java, of the release line that the target names; else the bundled broker."""
    try:
        jvm.find("explore")
    except TargetProblem:
        release = ".".join(map(str, target.release_number[:2]))
        return f"reference?emulate={release}" if release in ("2.1", "3.9", "4.0", "4.2") else "reference"
    return f"kafka:{LINES.get(tuple(target.release_number[:2]), NEWEST)}"


def is_kafka(text: str) -> bool:
    """Whether differences from this oracle are differences from Apache Kafka."""
    return Address.parse(text).scheme == "kafka"


def opened(text: str, workdir: Path, *, restarts: bool = False) -> Target:
    """The target that a string names, with the settings of an exploration where we start it; not started yet.

    One that is killed and started again keeps its short session: Kafka lets no broker in while the old one's lasts.
    """
    target = open_target(text, workdir)
    address = Address.parse(text)
    if "set" not in known_targets()[address.scheme].options:
        return target
    left_out = target.chosen | ({"broker.session.timeout.ms"} if restarts else set())
    wanted = {key: value for key, value in _settings(address, target).items() if key not in left_out}
    given = [address.options["set"]] if "set" in address.options else []
    options = address.options | {"set": ",".join([*given, *(f"{key}={value}" for key, value in wanted.items())])}
    query = "&".join(f"{key}={value}" for key, value in options.items())
    return open_target(f"{text.partition('?')[0]}?{query}", workdir)


def _settings(address: Address, target: Target) -> dict[str, str]:
    if address.scheme != "kafka":
        return _CALM
    release = target.release_number or (9,)
    calm = {key: value for key, value in _CALM.items() if release >= _KIP_848 or "group.consumer" not in key}
    calm |= _CALM_KAFKA | (_CALM_SHARES | _CALM_STREAMS if release >= _SHARES else {})
    return {key: value for key, value in calm.items() if "assignment" not in key or release >= _ASSIGNMENT_INTERVAL}
