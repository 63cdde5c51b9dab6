"""A raw producer around the proxy: when the clients are stuck, it shows whether the broker is."""

from __future__ import annotations

import itertools

from histories.clock import now_ns
from histories.payload import record_for
from histories.rows import Client, Operation, Record
from suites.probe.produce import batch
from suites.probe.wire import Wire
from suites.workloads.stage import Stage
from wire.records import Record as WireRecord

CLIENT = "fresh"
_numbers = itertools.count(1)


def send_to_all(wire: Wire, stage: Stage) -> None:
    """One record to each partition, each with its rows in the history; raises when one is not acknowledged."""
    client = f"{CLIENT}{next(_numbers)}"
    stage.recorder.add(Client(client=client, library="wire", acks=-1, idempotence=False, retries=0))
    values = stage.value_range()
    for topic, partition in stage.places:
        key, body, headers, timestamp = record_for(next(values), 64)
        op, call_ns, outcome, offset = stage.recorder.next_op(), now_ns(), "info", None
        try:
            answer = wire.produce(topic, batch(records=[WireRecord(key, body, headers, timestamp)]), partition)
            offset, outcome = answer.offset, "ok"
        finally:
            value = int.from_bytes(body[4:12], "big") if body else None
            stage.recorder.add(
                Operation(
                    op=op,
                    client=client,
                    kind="send",
                    topic=topic,
                    partition=partition,
                    call_ns=call_ns,
                    return_ns=now_ns(),
                    outcome=outcome,
                    base_offset=offset,
                    count=1,
                )
            )
            stage.recorder.add(
                Record(
                    op=op,
                    client=client,
                    topic=topic,
                    partition=partition,
                    offset=offset,
                    value=value,
                    side="sent",
                    position=0,
                    timestamp=timestamp,
                    outcome=outcome,
                )
            )
