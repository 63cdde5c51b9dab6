"""Clients that ask for the ends of partitions again and again: each answer is about a request sent after the call."""

from __future__ import annotations

from collections.abc import Callable

from confluent_kafka import TopicPartition

from brokertrial.histories.clock import now_ns
from brokertrial.histories.rows import Client, Operation, PartitionId
from brokertrial.suites.probe.failures import BrokerAtFault, NotApplicable, Unclear
from brokertrial.suites.probe.fetch import COMMITTED, UNCOMMITTED
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.workloads.context import WorkloadContext
from brokertrial.suites.workloads.reader import Reader

CALL_S = 5.0
PAUSE_S = 0.02
FENCED_VERSION = 9
"""The first version of Fetch that names the leader's epoch."""


def ask_for_ends(context: WorkloadContext, name: str) -> None:
    """Lists the earliest and latest offset of one partition after the other until the stage is stopping."""
    reader = Reader(context, name)
    rng = context.random(name)
    while not context.stopping.wait(PAUSE_S):
        topic, partition = rng.choice(context.places)
        with context.call("list_offsets", name, (topic, partition)) as call:
            start, end = reader.consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=CALL_S)
            call.row.log_start, call.row.high_watermark = start, end
            context.log_starts_at((topic, partition), start)
    reader.close()


WATCH_PATIENCE_S = 3.0
"""How long the watcher waits for one answer: a node that is frozen must not keep it from asking the others."""


def watch(context: WorkloadContext, name: str, wire_as: Callable[[str], Wire]) -> None:
    """A raw client around the proxy asks the leaders, all along, for what only rises: ends, last stable offsets, log
    starts, leader epochs. What it is not told, because a node is away or leads no more, is no observation."""
    context.recorder.add(Client(client=name, library="wire", isolation="read_committed", mode="none"))
    rng, wire = context.random(name), _patient(wire_as(name))
    while not context.stopping.wait(PAUSE_S):
        place = rng.choice(context.places)
        try:
            if rng.random() < 0.5:
                _watch_end(context, name, wire, place)
            else:
                _watch_fetch(context, name, wire, place, rng.choice([COMMITTED, UNCOMMITTED]))
        except NotApplicable:
            return
        except (BrokerAtFault, Unclear):
            wire.drop_lines()
            wire = _patient(wire_as(name))
            context.stopping.wait(PAUSE_S * 10)
    wire.drop_lines()


def _patient(wire: Wire) -> Wire:
    wire.at_most_s = WATCH_PATIENCE_S
    return wire


def _watch_end(context: WorkloadContext, name: str, wire: Wire, place: PartitionId) -> None:
    call_ns = now_ns()
    end = wire.log_end(*place)
    _told(context, name, "list_offsets", place, call_ns, high_watermark=end)


def _watch_fetch(context: WorkloadContext, name: str, wire: Wire, place: PartitionId, isolation: str) -> None:
    """A Fetch that names the leader's epoch: an answer without an error comes from that very epoch."""
    start, epoch = wire.log_start(*place), wire.leader_epoch(*place)
    call_ns = now_ns()
    answer = wire.fetch(*place, offset=start, isolation=isolation, partition_max_bytes=1, leader_epoch=epoch)
    answer.must_succeed()
    context.log_starts_at(place, answer.log_start_offset)
    _told(
        context,
        name,
        "fetch",
        place,
        call_ns,
        node=wire.leader(*place),
        high_watermark=answer.high_watermark,
        last_stable=answer.last_stable_offset if answer.last_stable_offset >= 0 else None,
        log_start=answer.log_start_offset if answer.log_start_offset >= 0 else None,
        leader_epoch=epoch if epoch >= 0 and answer.version >= FENCED_VERSION else None,
    )


def _told(context: WorkloadContext, name: str, kind: str, place: PartitionId, call_ns: int, **told: int | None) -> None:
    context.recorder.add(
        Operation(
            op=context.recorder.next_op(),
            client=name,
            kind=kind,
            topic=place[0],
            partition=place[1],
            call_ns=call_ns,
            return_ns=now_ns(),
            outcome="ok",
            **told,  # type: ignore[arg-type]
        )
    )
