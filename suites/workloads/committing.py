"""A member commits where it stands, and the history has one row a partition."""

from __future__ import annotations

from confluent_kafka import Consumer, KafkaException, TopicPartition

from brokertrial.histories.clock import now_ns
from brokertrial.histories.rows import Operation
from brokertrial.suites.workloads.context import WorkloadContext


def commit_positions(
    context: WorkloadContext, consumer: Consumer, client: str, group: str, positions: list[TopicPartition]
) -> bool:
    """Commits and waits for the answer; whether every one of them was acknowledged."""
    context.clock.tick()
    op, call_ns, outcome = context.recorder.next_op(), now_ns(), "ok"
    try:
        done = consumer.commit(offsets=positions, asynchronous=False)
        failed = {(part.topic, part.partition) for part in done if part.error is not None}
    except KafkaException:
        outcome, failed = "info", set()
    for part in positions:
        context.recorder.add(
            Operation(
                op=op,
                client=client,
                kind="commit",
                topic=part.topic,
                partition=part.partition,
                call_ns=call_ns,
                return_ns=now_ns(),
                outcome="info" if (part.topic, part.partition) in failed else outcome,
                committed_offset=part.offset,
                group=group,
            )
        )
    return outcome == "ok" and not failed
