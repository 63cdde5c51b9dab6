"""A well-behaved client in a process of its own: what others do to the broker must not be felt here.

It writes one record and reads it back, over and over on one connection, and notes how long that takes. At the end it
reads everything that was acknowledged.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import statistics
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection as Pipe
from typing import Any

from brokertrial.wire.client import Connection
from brokertrial.wire.codec import Malformed
from brokertrial.wire.conversation import ConnectionFailed
from brokertrial.wire.messages import request
from brokertrial.wire.records import Record, batches, build_batch

PAUSE_S = 0.005
WITHIN_S = 60.0


class Wronged(Exception):
    """The witness was not served as it should have been."""


@dataclass(frozen=True, slots=True)
class Latency:
    """How long a write and its read took, in milliseconds."""

    rounds: int
    p50_ms: float
    p99_ms: float
    worst_ms: float

    @classmethod
    def of(cls, taken_ms: list[float]) -> Latency:
        ordered = sorted(taken_ms)
        return cls(len(ordered), statistics.median(ordered), ordered[int(len(ordered) * 0.99)], ordered[-1])


class Witness:
    """The process, told what to do over a pipe."""

    def __init__(self, port: int, topic: str) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_run, args=(port, topic, theirs), daemon=True)
        self._process.start()
        theirs.close()

    def __enter__(self) -> Witness:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.join()

    def begin(self) -> None:
        """From now on times are noted."""
        self._ask("begin")

    def told(self) -> Latency:
        """What was noted since; Wronged if a request failed, or nothing was served."""
        found = self._ask("told")
        if not found:
            raise Wronged("not one request of the witness was answered")
        return Latency.of(found)

    def read_all(self) -> int:
        """How many records it wrote and found again; Wronged if one is missing."""
        return int(self._ask("read_all"))

    def _ask(self, what: str) -> Any:
        with contextlib.suppress(BrokenPipeError):  # then its last words are there to be read
            self._pipe.send(what)
        if not self._pipe.poll(WITHIN_S):
            raise Wronged(f"the witness has waited {WITHIN_S:g} s for an answer ({what})")
        try:
            found = self._pipe.recv()
        except EOFError:
            raise Wronged("the witness has ended by itself") from None
        if isinstance(found, str):
            raise Wronged(found)
        return found


def _run(port: int, topic: str, pipe: Pipe) -> None:
    try:
        with Connection("127.0.0.1", port, client_id="witness", timeout_s=WITHIN_S) as line:
            _testify(line, topic, pipe)
    except (Wronged, ConnectionFailed, Malformed, OSError) as error:
        pipe.send(f"{type(error).__name__}: {error}")


def _testify(line: Connection, topic: str, pipe: Pipe) -> None:
    taken: list[float] = []
    written, first = 0, -1
    while True:
        began = time.perf_counter()
        offset = _write(line, topic, written)
        first = offset if first < 0 else first
        if _read(line, topic, offset) != [written]:
            raise Wronged(f"record {written} was acknowledged at offset {offset} and is not there")
        written += 1
        taken.append((time.perf_counter() - began) * 1000)
        if pipe.poll(PAUSE_S):
            match pipe.recv():
                case "begin":
                    taken = []
                    pipe.send(True)
                case "told":
                    pipe.send(taken)
                case "read_all":
                    pipe.send(_count(line, topic, first, written))


def _write(line: Connection, topic: str, value: int) -> int:
    batch = build_batch([Record(None, b"%d" % value, timestamp=int(time.time() * 1000))])
    data = [{"name": topic, "partition_data": [{"index": 0, "records": batch}]}]
    answer = line.call(request("Produce", acks=-1, timeout_ms=30_000, topic_data=data), 9)
    part = answer.responses[0].partition_responses[0]
    if part.error_code:
        raise Wronged(f"a write of the witness failed with {part.error_code}")
    return int(part.base_offset)


def _read(line: Connection, topic: str, offset: int) -> list[int]:
    parts = [{"topic": topic, "partitions": [{"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20}]}]
    answer = line.call(request("Fetch", max_wait_ms=1000, min_bytes=1, max_bytes=1 << 20, topics=parts), 12)
    part = answer.responses[0].partitions[0]
    if part.error_code:
        raise Wronged(f"a read of the witness failed with {part.error_code}")
    return [int(bytes(record.value or b"-1")) for batch in batches(part.records) for record in batch.records()]


def _count(line: Connection, topic: str, first: int, written: int) -> int:
    seen: list[int] = []
    while len(seen) < written:
        more = _read(line, topic, first + len(seen))
        if not more:
            raise Wronged(f"{written} records were acknowledged, {len(seen)} are there")
        seen += more
    if seen != list(range(written)):
        raise Wronged("what is there is not what was acknowledged")
    return written
