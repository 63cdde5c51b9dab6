"""What retention and compaction may delete, and when."""

from typing import Any

import msgspec

from brokertrial.histories.rows import Operation, Record
from tests.checkers.oracle.facts import Facts, same_place

MS = 1_000_000
SLACK_NS = 1_000_000_000


def settings(facts: Facts, topic: str | None) -> dict[str, Any]:
    """What the history states of a topic; the later word counts."""
    known: dict[str, Any] = {}
    for event in facts.events:
        if event.kind == "topic" and event.topic == topic:
            known |= msgspec.json.decode(event.fields or "{}")
    return known


def deletes(facts: Facts, topic: str) -> bool:
    """Whether records of the topic are deleted by age or size: unless it is compacted and nothing else."""
    events = [event for event in facts.events if event.kind == "topic" and event.topic == topic]
    policies = [str(msgspec.json.decode(event.fields or "{}").get("cleanup_policy", "")) for event in events]
    return not any("compact" in policy for policy in policies) or any("delete" in policy for policy in policies)


def operation_of(facts: Facts, row: Record) -> Operation | None:
    return next((call for call in facts.operations if call.op == row.op and same_place(call, row)), None)


def cut(facts: Facts, topic: str | None, partition: int | None) -> bool:
    return any(
        (row.topic, row.partition) == (topic, partition)
        for row in facts.operations
        if row.kind == "delete_records" and row.outcome != "fail"
    )


def stamped_when_sent(facts: Facts, row: Record, call: Operation) -> bool:
    """Whether the record's timestamp is not older than its send, by the clocks of the first send that has both."""
    stamped = [each for each in facts.sent if each.timestamp is not None and operation_of(facts, each) is not None]
    first = min((each.op for each in facts.sent if each.timestamp is not None), default=None)
    ties = [each for each in facts.sent if each.op == first]
    anchors = [found for each in ties if (found := operation_of(facts, each)) is not None]
    if not stamped or not anchors or row.timestamp is None:
        return False
    stamp = max(each.timestamp for each in ties if each.timestamp is not None)
    return (row.timestamp - stamp) * MS >= call.call_ns - max(each.call_ns for each in anchors) - SLACK_NS
