"""The settings that a group may have of its own (KIP-848); what it has not is the broker's."""

from __future__ import annotations

from brokertrial.reference_impl.settings.setting import Setting

_ROWS = [
    Setting("consumer.heartbeat.interval.ms", "int", "5000", low=1, synonym="group.consumer.heartbeat.interval.ms"),
    Setting("consumer.session.timeout.ms", "int", "45000", low=1, synonym="group.consumer.session.timeout.ms"),
]

GROUP_SETTINGS = {row.name: row for row in _ROWS}

BOUNDS = {
    "consumer.heartbeat.interval.ms": (
        "group.consumer.min.heartbeat.interval.ms",
        "group.consumer.max.heartbeat.interval.ms",
    ),
    "consumer.session.timeout.ms": ("group.consumer.min.session.timeout.ms", "group.consumer.max.session.timeout.ms"),
}
"""The broker settings between which each must lie."""
