"""Synthetic histories of any size, made of columns: every record is sent and acknowledged once, and read once."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from histories.header import Header
from histories.parts import PartWriter
from histories.recorder import Recorder
from histories.rows import Client
from histories.tables import schema_of

PART = 100_000
GAP_NS = 1_000
FLIGHT_NS = 2_000_000


def write_history(folder: Path, records: int, *, partitions: int = 12, producers: int = 8) -> None:
    """Writes a clean history of `records` sends and reads; one operation a record: nothing is batched."""
    recorder = Recorder.create(folder, Header(case="bench/checking", target="synthetic", nodes=1))
    for number in range(producers):
        recorder.add(Client(client=f"producer-{number}", library="synthetic", acks=-1, idempotence=True))
    recorder.add(Client(client="reader", library="synthetic", isolation="read_uncommitted", mode="assign"))
    for partition in range(partitions):
        end = (records - partition + partitions - 1) // partitions
        recorder.event("final-read", topic="t", partition=partition, offset=end)
    parts: PartWriter = recorder._parts
    for start in range(0, records, PART):
        value = np.arange(start, min(start + PART, records))
        partition, offset = value % partitions, value // partitions
        producer = pa.array([f"producer-{n}" for n in range(producers)]).take(pa.array(value % producers))
        call = value * GAP_NS
        parts.write_columns(
            "operations",
            _table(
                "operations",
                op=value,
                client=producer,
                kind="send",
                topic="t",
                node=0,
                partition=partition,
                call_ns=call,
                return_ns=call + FLIGHT_NS,
                outcome="ok",
                error=0,
                base_offset=offset,
                count=1,
                leader_epoch=0,
            ),
        )
        parts.write_columns(
            "records",
            _table(
                "records",
                op=value,
                client=producer,
                topic="t",
                partition=partition,
                offset=offset,
                value=value,
                key=value % 1024,
                tombstone=False,
                intact=True,
                side="sent",
                position=value // partitions // producers,
                leader_epoch=0,
                timestamp=call,
                outcome="ok",
            ),
        )
    polls = 500
    for start in range(0, records, PART):
        value = np.arange(start, min(start + PART, records))
        partition, offset = value % partitions, value // partitions
        poll = records + offset // polls * partitions + partition
        parts.write_columns(
            "records",
            _table(
                "records",
                op=poll,
                client="reader",
                topic="t",
                partition=partition,
                offset=offset,
                value=value,
                key=value % 1024,
                tombstone=False,
                intact=True,
                side="seen",
                stream=partition,
                position=offset,
                prev_offset=offset - 1,
                leader_epoch=0,
                timestamp=value * GAP_NS,
                outcome="ok",
            ),
        )
    first = np.arange(0, (records + partitions - 1) // partitions, polls)
    for partition in range(partitions):
        ops = records + first // polls * partitions + partition
        call = (records + 10 * PART) * GAP_NS + ops * GAP_NS
        parts.write_columns(
            "operations",
            _table(
                "operations",
                op=ops,
                client="reader",
                kind="fetch",
                topic="t",
                node=0,
                partition=partition,
                call_ns=call,
                return_ns=call + FLIGHT_NS,
                outcome="ok",
                error=0,
                base_offset=first,
                count=polls,
            ),
        )
    recorder.close()


def _table(name: str, **columns: object) -> pa.Table:
    rows = max(len(column) for column in columns.values() if isinstance(column, np.ndarray | pa.Array))
    arrays = [_column(columns.get(field.name), field.type, rows) for field in schema_of(name)]
    return pa.Table.from_arrays(arrays, schema=schema_of(name))


def _column(content: object, kind: pa.DataType, rows: int) -> pa.Array:
    if content is None:
        return pa.nulls(rows, kind)
    if isinstance(content, np.ndarray | pa.Array):
        return pa.array(content, kind) if isinstance(content, np.ndarray) else content.cast(kind)
    return pa.repeat(pa.scalar(content, kind), rows)
