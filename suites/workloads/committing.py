"""A member commits where it stands, and the history has one row a partition."""

from __future__ import annotations

from confluent_kafka import Consumer, TopicPartition

from brokertrial.suites.workloads.context import WorkloadContext


def commit_positions(
    context: WorkloadContext, consumer: Consumer, client: str, group: str, positions: list[TopicPartition]
) -> bool:
    """Commits and waits for the answer; whether every one of them was acknowledged."""
    with context.call("commit", client, group=group) as call:
        rows = {
            (part.topic, part.partition): call.on((part.topic, part.partition), committed_offset=part.offset)
            for part in positions
        }
        for part in consumer.commit(offsets=positions, asynchronous=False):
            if part.error is not None:
                rows[part.topic, part.partition].outcome = "info"
    return all(row.outcome == "ok" for row in call.rows or [call.row])
