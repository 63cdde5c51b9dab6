"""The codec against kio and kafka-python, and what hostile frames make it allocate.

    python -m bench.codec [--seconds 0.2] [--elements 500]

Microseconds for one message, best of five rounds. All three read and write the same bytes (tests/wire proves it); kio's
messages are frozen, so what is timed is the message as it is, not its construction. The second table is the worst
amplification: bytes allocated for each byte of frames that are made of the smallest elements there are.
"""

import argparse
import io
import platform
import tracemalloc
from collections.abc import Callable
from time import perf_counter
from typing import Any

import kafka
from kafka.protocol.consumer.fetch import FetchRequest, FetchResponse
from kafka.protocol.producer.produce import ProduceRequest, ProduceResponse
from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer

from brokertrial.wire import apis
from brokertrial.wire.codec import decode, encode, encode_buffers
from brokertrial.wire.messages import Struct, request, response
from tests.support.worst_frames import PROMISE, decode_peak, worst_frames

KAFKA_PYTHON = {
    ("Fetch", "request"): FetchRequest,
    ("Fetch", "response"): FetchResponse,
    ("Produce", "request"): ProduceRequest,
    ("Produce", "response"): ProduceResponse,
}
KIB, MIB = 1024, 1024 * 1024


def produce_request(partitions: int, size: int) -> Struct:
    parts = [{"index": index, "records": bytes(size)} for index in range(partitions)]
    return request("Produce", acks=-1, timeout_ms=1000, topic_data=[{"name": "topic-1", "partition_data": parts}])


def produce_response(partitions: int) -> Struct:
    parts = [{"index": index, "base_offset": 4711} for index in range(partitions)]
    return response("Produce", responses=[{"name": "topic-1", "partition_responses": parts}])


def fetch_request(partitions: int) -> Struct:
    parts = [{"partition": index, "fetch_offset": 4711, "partition_max_bytes": MIB} for index in range(partitions)]
    return request("Fetch", max_wait_ms=500, topics=[{"topic": "topic-1", "partitions": parts}])


def fetch_response(partitions: int, size: int) -> Struct:
    marks = {"high_watermark": 9, "last_stable_offset": 9, "log_start_offset": 0, "aborted_transactions": None}
    parts = [{"partition_index": index, **marks, "records": bytes(size)} for index in range(partitions)]
    return response("Fetch", responses=[{"topic": "topic-1", "partitions": parts}])


ROWS: list[tuple[str, Struct, int, str]] = [
    ("Produce v9 request decode, 16 KiB", produce_request(1, 16 * KIB), 9, "decode"),
    ("Produce v9 request decode, 1 MiB", produce_request(1, MIB), 9, "decode"),
    ("Produce v9 request decode, 64 x 16 KiB", produce_request(64, 16 * KIB), 9, "decode"),
    ("Produce v9 request encode, 16 KiB", produce_request(1, 16 * KIB), 9, "encode"),
    ("Produce v9 request encode, 1 MiB", produce_request(1, MIB), 9, "encode"),
    ("Produce v9 response encode, 1 partition", produce_response(1), 9, "encode"),
    ("Produce v9 response encode, 64 partitions", produce_response(64), 9, "encode"),
    ("Produce v9 response decode, 1 partition", produce_response(1), 9, "decode"),
    ("Fetch v12 request decode, 1 partition", fetch_request(1), 12, "decode"),
    ("Fetch v12 request decode, 64 partitions", fetch_request(64), 12, "decode"),
    ("Fetch v12 response encode, 16 KiB", fetch_response(1, 16 * KIB), 12, "encode"),
    ("Fetch v12 response encode, 1 MiB", fetch_response(1, MIB), 12, "encode"),
    ("Fetch v12 response encode, 64 x 16 KiB", fetch_response(64, 16 * KIB), 12, "encode"),
    ("Fetch v12 response decode, 1 MiB", fetch_response(1, MIB), 12, "decode"),
]


def best_microseconds(action: Callable[[], Any], seconds: float) -> float:
    """The time of one call: rounds long enough to measure, the quickest counts."""
    action()
    begun, calls = perf_counter(), 0
    while perf_counter() - begun < seconds / 5:
        action()
        calls += 1
    rounds = []
    for _ in range(5):
        begun = perf_counter()
        for _ in range(calls):
            action()
        rounds.append((perf_counter() - begun) / calls)
    return min(rounds) * 1e6


def contestants(message: Struct, version: int, way: str) -> list[Callable[[], Any]]:
    """Ours joined, ours as buffers (encoding only), kio, kafka-python."""
    name, direction = message._api, message._direction
    body = encode(message, version)
    key = apis.by_name(name).key
    schema: Any = (load_request_schema if direction == "request" else load_response_schema)(key, version)
    read, write = entity_reader(schema), entity_writer(schema)
    kind = KAFKA_PYTHON[name, direction]
    if way == "decode":
        ours = lambda: decode(name, direction, version, body)  # noqa: E731
        return [ours, ours, lambda: read(body, 0), lambda: kind.decode(body, version=version)]
    theirs, other = read(body, 0)[0], kind.decode(body, version=version)
    other._header = None
    assert bytes(other.encode(version=version)) == body
    return [
        lambda: encode(message, version),
        lambda: encode_buffers(message, version),
        lambda: write(io.BytesIO(), theirs),
        lambda: other.encode(version=version),
    ]


def speed(seconds: float) -> None:
    print(f"{'microseconds':<44}{'wire':>9}{'buffers':>9}{'kio':>9}{'kafka-python':>14}")
    for title, message, version, way in ROWS:
        times = [best_microseconds(action, seconds) for action in contestants(message, version, way)]
        print(f"{title:<44}{times[0]:>9.1f}{times[1]:>9.1f}{times[2]:>9.1f}{times[3]:>14.1f}")


def amplification(elements: int) -> None:
    """The worst frames of every API in its newest version."""
    found = []
    for api in apis.ALL:
        for direction in ("request", "response"):
            for what, frame in worst_frames(api.name, direction, api.max_version, elements):
                decode(api.name, direction, api.max_version, frame)
                tracemalloc.start()
                peak = decode_peak(api.name, direction, api.max_version, frame)
                tracemalloc.stop()
                found.append((peak / len(frame), len(frame), f"{api.name} {direction} v{api.max_version}: {what}"))
    found.sort(reverse=True)
    print(f"\nallocated for each byte, {len(found)} frames of {elements} smallest elements (promised: {PROMISE})")
    for ratio, size, what in found[:5]:
        print(f"{ratio:>6.1f}  {size:>7} bytes  {what}")


def main() -> None:
    parser = argparse.ArgumentParser(description="The codec against kio and kafka-python")
    parser.add_argument("--seconds", type=float, default=0.2, help="for each figure")
    parser.add_argument("--elements", type=int, default=500, help="in each of the worst frames")
    options = parser.parse_args()
    print(f"Python {platform.python_version()}, {platform.machine()}, kafka-python {kafka.__version__}\n")
    speed(options.seconds)
    amplification(options.elements)


if __name__ == "__main__":
    main()
