"""What a new topic may be called and look like, as Kafka's controller decides it; pure."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from typing import NamedTuple

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.settings.setting import InvalidSetting
from brokertrial.reference_impl.settings.topic import TOPIC_SETTINGS
from brokertrial.wire import errors

_MOST_PARTITIONS_AT_ONCE = 10_000
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")
_LONGEST = 249


class WrongSetting(NamedTuple):
    """An error code and the sentence that goes with it."""

    error: int
    message: str | None


def name_fault(name: str) -> WrongSetting | None:
    """Why this cannot be a topic's name."""
    if not name:
        problem = "Topic name is invalid: the empty string is not allowed"
    elif name in (".", ".."):
        problem = f"Topic name is invalid: '{name}' is not allowed"
    elif len(name) > _LONGEST:
        problem = f"Topic name is invalid: the length of '{name}' is longer than the max allowed length {_LONGEST}"
    elif not _LEGAL.fullmatch(name) and not bugs.on("N08"):
        problem = (
            f"Topic name is invalid: '{name}' contains one or more characters other than "
            "ASCII alphanumerics, '.', '_' and '-'"
        )
    else:
        return None
    return WrongSetting(errors.INVALID_TOPIC_EXCEPTION, problem)


def collision(name: str, existing: Iterable[str]) -> WrongSetting | None:
    """Names that differ only in dots and underscores would share a metric's name."""
    folded = name.replace(".", "_")
    if "_" not in folded:
        return None
    for other in existing:
        if other != name and other.replace(".", "_") == folded and not bugs.on("N09"):
            return WrongSetting(errors.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {other}")
    return None


def config_fault(configs: dict[str, str | None]) -> WrongSetting | None:
    """Why these cannot be a topic's own settings."""
    for key, value in configs.items():
        setting = TOPIC_SETTINGS.get(key)
        if setting is None:
            return WrongSetting(errors.INVALID_CONFIG, f"Unknown topic config name: {key}")
        if value is None:
            return WrongSetting(errors.INVALID_CONFIG, f"Null value not supported for topic configs: {key}")
        try:
            setting.parse(value)
        except InvalidSetting as error:
            return WrongSetting(errors.INVALID_CONFIG, str(error))
    return None


def shape_fault(partitions: int, replicas: int, brokers: int) -> WrongSetting | None:
    """Why there cannot be so many partitions or replicas; -1 asks for the default."""
    if replicas < -1 or replicas == 0:
        return WrongSetting(
            errors.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if partitions < -1 or partitions == 0:
        return WrongSetting(
            errors.INVALID_PARTITIONS,
            "Number of partitions was set to an invalid non-positive value.",
        )
    if replicas > brokers and not bugs.on("N10"):
        return WrongSetting(
            errors.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {replicas} time(s): The target replication factor of {replicas} "
            f"cannot be reached because only {brokers} broker(s) are registered.",
        )
    return None


def batch_fault(partitions: int) -> WrongSetting | None:
    """Why one request cannot make so many partitions."""
    if partitions > _MOST_PARTITIONS_AT_ONCE:
        return WrongSetting(errors.POLICY_VIOLATION, "Excessively large number of partitions per request.")
    return None


def assignment_fault(
    assignments: dict[int, list[int]], registered: Container[int], live: Container[int], replicas: int = 0
) -> WrongSetting | None:
    """Why partitions cannot be placed by hand like this, on a cluster of these brokers of which these are alive.

    `replicas` is how many each partition has that there is already; 0: there is none.
    """
    for brokers in assignments.values():
        if not brokers:
            return WrongSetting(
                errors.INVALID_REPLICA_ASSIGNMENT, "The manual partition assignment includes an empty replica list."
            )
        if len(set(brokers)) != len(brokers):
            message = "The manual partition assignment includes a broker more than once."
            return WrongSetting(errors.INVALID_REPLICA_ASSIGNMENT, message)
        for one in brokers:
            if one not in registered:
                return WrongSetting(
                    errors.INVALID_REPLICA_ASSIGNMENT,
                    f"The manual partition assignment includes broker {one}, but no such broker is registered.",
                )
        if not any(one in live for one in brokers) and not bugs.on("X05"):
            return WrongSetting(
                errors.INVALID_REPLICA_ASSIGNMENT,
                "All brokers specified in the manual partition assignment are fenced or in controlled shutdown.",
            )
        if len(brokers) != (replicas := replicas or len(brokers)) and not bugs.on("Z52"):
            return WrongSetting(
                errors.INVALID_REPLICA_ASSIGNMENT,
                f"The manual partition assignment includes a partition with {len(brokers)} replica(s), but this is not "
                f"consistent with previous partitions, which have {replicas} replica(s).",
            )
    if sorted(assignments) != list(range(len(assignments))) and not bugs.on("Z30"):
        return WrongSetting(
            errors.INVALID_REPLICA_ASSIGNMENT, "partitions should be a consecutive 0-based integer sequence"
        )
    return None
