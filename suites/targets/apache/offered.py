"""What an Apache Kafka release offers: the features that came later, each turned on by a finalized level."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from brokertrial.suites.targets.base import FEATURES


@dataclass(frozen=True, slots=True)
class Later:
    """A feature that not every KRaft release has: from which on it can be turned on, from which on it is on."""

    level: str  # the finalized feature that turns it on
    can_since: tuple[int, int]
    on_since: tuple[int, int]


LATER: dict[str, Later] = {
    # KIP-848: early access in 3.7, a preview in 3.8 and 3.9 by a setting and without a feature level, ready in 4.0.
    "consumer-protocol": Later("group.version", (4, 0), (4, 0)),
    # KIP-932: early access in 4.0 by a setting, a preview in 4.1 that is off by default, ready in 4.2.
    "share-groups": Later("share.version", (4, 1), (4, 2)),
}


def claims(release: tuple[int, ...], finalized: Mapping[str, int] | None) -> dict[str, bool]:
    """Feature -> whether that release offers it with these finalized levels; None: those of a new cluster."""
    return {feature: _offers(feature, release, finalized) for feature in FEATURES}


def _offers(feature: str, release: tuple[int, ...], finalized: Mapping[str, int] | None) -> bool:
    later = LATER.get(feature)
    if later is None:
        return True
    if finalized is None:
        return release >= later.on_since
    return release >= later.can_since and finalized.get(later.level, 0) >= 1
