"""A client that asks for the ends of partitions again and again: each answer is about a request sent after the call."""

from __future__ import annotations

from confluent_kafka import KafkaException, TopicPartition

from histories.clock import now_ns
from histories.rows import Operation
from suites.workloads.reader import Reader
from suites.workloads.stage import Stage

CALL_S = 5.0
PAUSE_S = 0.02


def ask_for_ends(stage: Stage, name: str) -> None:
    """Lists the earliest and latest offset of one partition after the other until the stage is stopping."""
    reader = Reader(stage, name)
    rng = stage.random(name)
    while not stage.stopping.wait(PAUSE_S):
        topic, partition = rng.choice(stage.places)
        op, _ = stage.recorder.next_op(), stage.clock.tick()
        call_ns = now_ns()
        try:
            found = reader.consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=CALL_S)
        except KafkaException:
            found = None
        stage.recorder.add(
            Operation(
                op=op,
                client=name,
                kind="list_offsets",
                topic=topic,
                partition=partition,
                call_ns=call_ns,
                return_ns=now_ns(),
                outcome="info" if found is None else "ok",
                log_start=None if found is None else found[0],
                high_watermark=None if found is None else found[1],
            )
        )
    reader.close()
