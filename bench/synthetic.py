"""Synthetic histories of any size, made of columns: every record is sent and acknowledged once, and read once.

Times jitter and keys are random, so that files are as large as those of real runs (about 9 bytes an operation). What is
planted is wrong with exactly the values named; everything else is legal.

    python -m bench.synthetic FOLDER RECORDS [--partitions N] [--lost VALUE ...] [--duplicate VALUE ...]
"""

import argparse
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from brokertrial.histories.header import Header
from brokertrial.histories.parts import PartWriter
from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import Client
from brokertrial.histories.tables import schema_of

PART = 100_000
LARGE_PART = 2_000_000
GAP_NS = 1_000
FLIGHT_NS = 2_000_000
POLL = 500

Int64Array = npt.NDArray[np.int64]
Job = tuple[str, Callable[[], pa.Table]]
"""A table, and what makes a part of it."""


@dataclass(frozen=True)
class Planted:
    """Values that are lost (a reader went on without it), stored twice, read as something else, or read too late."""

    lost: tuple[int, ...] = ()
    duplicate: tuple[int, ...] = ()
    phantom: tuple[int, ...] = ()
    back: tuple[int, ...] = ()


@dataclass(frozen=True)
class Shape:
    """A history: value v lies in partition v % partitions at offset v // partitions."""

    records: int
    partitions: int
    producers: int
    planted: Planted
    seed: int = 1

    def chunks(self) -> Iterator[Int64Array]:
        """The values, part by part."""
        rows = PART if self.records <= 20_000_000 else LARGE_PART
        return (np.arange(start, min(start + rows, self.records)) for start in range(0, self.records, rows))

    def end(self, partition: int) -> int:
        """The end offset of a partition."""
        doubled = sum(value % self.partitions == partition for value in self.planted.duplicate)
        return self.held(partition) + doubled

    def held(self, partition: int) -> int:
        """How many values a partition holds."""
        return (self.records - partition + self.partitions - 1) // self.partitions

    def random(self, value: Int64Array) -> np.random.Generator:
        """Dice of a chunk."""
        return np.random.default_rng((self.seed, int(value[0])))


def write_history(
    folder: Path, records: int, *, partitions: int = 12, producers: int = 8, planted: Planted | None = None
) -> None:
    """Writes a history of `records` sends and reads; one operation a record: nothing is batched."""
    shape = Shape(records, partitions, producers, planted or Planted())
    recorder = Recorder.create(folder, Header(case="bench/checking", target="synthetic", nodes=1))
    for number in range(producers):
        recorder.add(Client(client=f"producer-{number}", library="synthetic", acks=-1, idempotence=True))
    recorder.add(Client(client="reader", library="synthetic", isolation="read_uncommitted", mode="assign"))
    for partition in range(partitions):
        recorder.event("final-read", topic="t", partition=partition, offset=shape.end(partition))
    parts: PartWriter = recorder._parts
    with ThreadPoolExecutor(2) as pool:
        for name, table in _ahead(pool, _jobs(shape)):
            parts.write_columns(name, table)
    recorder.close()


def _jobs(shape: Shape) -> Iterator[Job]:
    for value in shape.chunks():
        yield "operations", partial(_sends, shape, value)
        yield "records", partial(_sent, shape, value)
    for value in shape.chunks():
        yield "records", partial(_seen, shape, value)
    yield "operations", partial(_polls, shape)
    if shape.planted.duplicate:
        yield "records", partial(_doubled, shape)


def _ahead(pool: Executor, jobs: Iterator[Job]) -> Iterator[tuple[str, pa.Table]]:
    """Results in order, two parts made ahead."""
    waiting = [(name, pool.submit(make)) for name, make in islice(jobs, 3)]
    while waiting:
        name, table = waiting.pop(0)
        yield name, table.result()
        waiting += [(name, pool.submit(make)) for name, make in islice(jobs, 1)]


def _place(shape: Shape, value: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Partitions, offsets and the numbers of the producers."""
    partition, offset = value % shape.partitions, value // shape.partitions
    return partition, offset, (offset + partition) % shape.producers


def _names(shape: Shape, number: Int64Array) -> pa.Array:
    return pa.array([f"producer-{n}" for n in range(shape.producers)]).take(pa.array(number))


def _times(shape: Shape, value: Int64Array) -> tuple[Int64Array, Int64Array]:
    """When each was sent, and when it was acknowledged."""
    dice = shape.random(value)
    call = value * GAP_NS + dice.integers(0, GAP_NS, len(value))
    return call, call + FLIGHT_NS + dice.integers(0, 1 << 16, len(value))


def _keys(shape: Shape, value: Int64Array) -> Int64Array:
    return np.random.default_rng((shape.seed, 7, int(value[0]))).integers(0, 1024, len(value))


def _sends(shape: Shape, value: Int64Array) -> pa.Table:
    partition, offset, producer = _place(shape, value)
    call, ret = _times(shape, value)
    return _table(
        "operations", op=value, client=_names(shape, producer), kind="send", topic="t", node=0, partition=partition,
        call_ns=call, return_ns=ret, outcome="ok", error=0, base_offset=offset, count=1, leader_epoch=0,
    )  # fmt: skip


def _sent(shape: Shape, value: Int64Array) -> pa.Table:
    partition, offset, producer = _place(shape, value)
    return _table(
        "records", op=value, client=_names(shape, producer), topic="t", partition=partition, offset=offset,
        value=value, key=_keys(shape, value), tombstone=False, intact=True, side="sent",
        position=offset // shape.producers, leader_epoch=0, timestamp=_times(shape, value)[0], outcome="ok",
    )  # fmt: skip


def _seen(shape: Shape, value: Int64Array) -> pa.Table:
    partition, offset, _ = _place(shape, value)
    planted, keys, times = shape.planted, _keys(shape, value), _times(shape, value)[0]
    prev = offset - 1 - np.isin(value - shape.partitions, planted.lost)
    prev = np.where(np.isin(value, planted.back), offset + 3, prev)
    read = np.where(np.isin(value, planted.phantom), -value - 1, value)
    kept = ~np.isin(value, planted.lost)
    columns = {"partition": partition, "offset": offset, "prev_offset": prev, "value": read, "key": keys}
    columns = {name: column[kept] for name, column in columns.items()}
    return _seen_table(shape, timestamp=times[kept], **columns)


def _doubled(shape: Shape) -> pa.Table:
    """Second copies, at the ends of their partitions."""
    value = np.array(shape.planted.duplicate)
    partition = value % shape.partitions
    earlier = np.array([int(np.sum(partition[:place] == partition[place])) for place in range(len(value))])
    offset = np.array([shape.held(int(number)) for number in partition]) + earlier
    return _seen_table(
        shape, partition=partition, offset=offset, prev_offset=offset - 1, value=value, key=value * 0, timestamp=value
    )


def _seen_table(shape: Shape, *, partition: Int64Array, offset: Int64Array, **columns: Int64Array) -> pa.Table:
    poll = shape.records + offset // POLL * shape.partitions + partition
    return _table(
        "records", op=poll, client="reader", topic="t", partition=partition, offset=offset, tombstone=False,
        intact=True, side="seen", stream=partition, position=offset, leader_epoch=0, outcome="ok", **columns,
    )  # fmt: skip


def _polls(shape: Shape) -> pa.Table:
    tables = []
    for partition in range(shape.partitions):
        first = np.arange(0, shape.end(partition), POLL)
        ops = shape.records + first // POLL * shape.partitions + partition
        call = (shape.records + 10 * PART) * GAP_NS + ops * GAP_NS
        tables.append(_table(
            "operations", op=ops, client="reader", kind="fetch", topic="t", node=0, partition=ops * 0 + partition,
            call_ns=call, return_ns=call + FLIGHT_NS, outcome="ok", error=0, base_offset=first, count=POLL,
        ))  # fmt: skip
    return pa.concat_tables(tables)


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


def main() -> None:
    """Writes one history, as asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("records", type=int)
    parser.add_argument("--partitions", type=int, default=12)
    for name in ("lost", "duplicate", "phantom", "back"):
        parser.add_argument(f"--{name}", type=int, nargs="*", default=[])
    asked = parser.parse_args()
    planted = Planted(tuple(asked.lost), tuple(asked.duplicate), tuple(asked.phantom), tuple(asked.back))
    write_history(asked.folder, asked.records, partitions=asked.partitions, planted=planted)


if __name__ == "__main__":
    main()
