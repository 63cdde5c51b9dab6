"""The topics that coordinators write to. That clients can see them is how Kafka does it, and no promise of its own."""

from __future__ import annotations

from brokertrial.suites.probe.wire import Wire

SHOWN_WITHIN_S = 20


def partitions_shown(wire: Wire, topic: str) -> int:
    """How many partitions an internal topic has; the case is not applicable where the broker shows no such topic.

    Ask once a coordinator was asked for, or was written to: Kafka makes these topics on first use.
    """
    if not (shown := partitions_if_shown(wire, topic)):
        wire.not_applicable(f"the broker shows no topic {topic}, which this case asks or changes")
    return shown


def partitions_if_shown(wire: Wire, topic: str) -> int:
    """The same, and 0 where the broker shows no such topic within a time."""
    began_ms, shown = wire.now_ms(), 0

    def is_decided() -> bool:
        nonlocal shown
        rows = wire.metadata(all_topics=True).struct.topics
        shown = next((len(row.partitions) for row in rows if row.name == topic and not row.error_code), 0)
        return bool(shown) or wire.now_ms() - began_ms > SHOWN_WITHIN_S * 1_000

    wire.until(is_decided, within=2 * SHOWN_WITHIN_S, what=f"{topic} is there")
    return shown
