"""Producers that send at a steady rate, a new one in place of each that the client library gives up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from brokertrial.histories.rows import PartitionId
from brokertrial.suites.workloads.context import WorkloadContext
from brokertrial.suites.workloads.workload import Actor
from brokertrial.suites.workloads.writer import IN_FLIGHT, RecordProducer

ONE_AT_A_TIME = 1
"""Requests in flight that survive a change of leaders. Of several, the first may come too early for the new leader
(error 6) and the next in time (error 45); librdkafka then sends all that is unanswered again under a new epoch, and so
doubles by itself what was stored."""

MakeWriter = Callable[[str], RecordProducer]


def send_steadily(
    context: WorkloadContext, name: str, rate: float, places: Sequence[PartitionId], make: MakeWriter | None = None
) -> None:
    """Sends the next value to one of the partitions, `rate` a second, until the stage is stopping."""
    make = make or (lambda client: RecordProducer(context, client, in_flight=ONE_AT_A_TIME))
    rng = context.random(name)
    life = 1
    writer = make(name)
    try:
        while not context.stopping.is_set():
            if writer.fatal is not None:  # a new producer is a new client, as an application would start one
                writer.close()
                life += 1
                writer = make(f"{name}.{life}")
            if writer.waiting < IN_FLIGHT:
                writer.send(rng.choice(places))
            writer.poll(rng.expovariate(rate))
    finally:  # also when this client fails: what it sent is in the log, and must be in the history
        writer.close()


def bystanders(
    context: WorkloadContext,
    count: int,
    rate: float,
    places: Sequence[PartitionId] | None = None,
    *,
    idempotent: bool = True,
) -> list[Actor]:
    """Plain producers beside a workload of another kind: they go on sending while its own clients must wait.

    Without idempotence where the workload does not ask the broker for InitProducerId.
    """
    where = context.places if places is None else places
    make = partial(RecordProducer, context, idempotent=idempotent, in_flight=ONE_AT_A_TIME)
    return [
        Actor(f"plain-producer-{n}", context, partial(send_steadily, context, f"plain-producer-{n}", rate, where, make))
        for n in range(1, count + 1)
    ]
