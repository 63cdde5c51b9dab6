"""What the proxy costs: added latency, throughput in frames and in bytes, against a direct connection in the same run.

    python -m bench.proxy [--seconds 3]

Targets: 100 us added at p50 and 1 ms at p99 at 2,000 requests a second, 50,000 frames a second, 100 MB/s. The
broker at the other end is a stub that answers every frame with a prepared answer, so that nothing but the proxy is
measured.
"""

import argparse
import asyncio
import multiprocessing
import socket
import statistics
import time
from collections.abc import Callable

from brokertrial.faults.proxy_process import FaultProxy
from brokertrial.wire.frames import encode_request, encode_response
from brokertrial.wire.messages import Struct, request, response
from brokertrial.wire.records import Record, build_batch

Ask = tuple[bytes, bytes]


def produce(size: int) -> Ask:
    """A Produce request with one record of this size, and its answer; both in the version that may carry addresses."""
    batch = build_batch([Record(None, bytes(size), timestamp=1)], producer_id=1, producer_epoch=0, base_sequence=0)
    data = [{"name": "t", "partition_data": [{"index": 0, "records": batch}]}]
    done = [{"name": "t", "partition_responses": [{"index": 0, "base_offset": 1}]}]
    return _pair(request("Produce", acks=-1, timeout_ms=1, topic_data=data), response("Produce", responses=done), 10)


def fetch(size: int) -> Ask:
    """A Fetch request and an answer with one record of this size."""
    batch = build_batch([Record(None, bytes(size), timestamp=1)])
    parts = [{"partition_index": 0, "high_watermark": 1, "records": batch}]
    return _pair(request("Fetch"), response("Fetch", responses=[{"partitions": parts}]), 16)


def heartbeat() -> Ask:
    """A small request that nothing looks into."""
    return _pair(request("Heartbeat", group_id="g", member_id="m"), response("Heartbeat"), 4)


def _pair(asked: Struct, answered: Struct, version: int) -> Ask:
    return encode_request(asked, version, 7, "bench"), encode_response(answered, version, 7)


class Stub(asyncio.Protocol):
    """Answers each frame of `size` bytes with `answer`."""

    def __init__(self, size: int, answer: bytes) -> None:
        self._size, self._answer, self._have = size, answer, 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self._have += len(data)
        whole, self._have = divmod(self._have, self._size)
        if whole:
            self._transport.write(self._answer * whole)


def stub_process(ask: Ask, port: "multiprocessing.Queue[int]") -> None:
    """A broker in a process of its own."""

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Stub(len(ask[0]), ask[1]), "127.0.0.1", 0)
        port.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    _fastest(serve)


def _fastest(serve: Callable[[], object]) -> None:
    try:
        import uvloop
    except ImportError:
        asyncio.run(serve())  # type: ignore[arg-type]
    else:
        uvloop.run(serve())  # type: ignore[arg-type]


def latencies(port: int, ask: Ask, seconds: float, every: float) -> list[float]:
    """Round trips in microseconds, one at a time, begun at a steady rate (0: one after the other)."""
    found = []
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        end = due = time.perf_counter()
        end += seconds
        while (now := time.perf_counter()) < end:
            if every and now < due:
                continue  # spinning keeps this side awake: its own wake-up is not the proxy's
            due += every
            began = time.perf_counter()
            connection.sendall(ask[0])
            left = len(ask[1])
            while left:
                left -= len(connection.recv(left))
            found.append((time.perf_counter() - began) * 1e6)
    return found[len(found) // 20 :]


def throughput(port: int, ask: Ask, seconds: float, ahead: int) -> float:
    """Round trips a second with `ahead` requests under way."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        began = time.perf_counter()
        sent = answered = 0
        buffer = bytearray(1 << 20)
        while time.perf_counter() - began < seconds:
            burst = max(1, ahead // 2)
            connection.sendall(ask[0] * burst)
            sent += burst * len(ask[1])
            while sent - answered > ahead // 2 * len(ask[1]):
                answered += connection.recv_into(buffer)
        while answered < sent:
            answered += connection.recv_into(buffer)
        return sent / len(ask[1]) / (time.perf_counter() - began)


def measure(name: str, ask: Ask, seconds: float, work: Callable[[int], float | list[float]]) -> None:
    """Runs `work` directly and through the proxy, turn by turn, and prints both."""
    ports: multiprocessing.Queue[int] = multiprocessing.Queue()
    broker = multiprocessing.Process(target=stub_process, args=(ask, ports), daemon=True)
    broker.start()
    try:
        port = ports.get(timeout=10)
        with FaultProxy.start([("127.0.0.1", port)], nodes={0: ("127.0.0.1", port)}) as links:
            ours = int(links.node_address(0).split(":")[1])
            work(port), work(ours)
            direct, through = work(port), work(ours)
            lag = links.lag()
    finally:
        broker.terminate()
        broker.join()
    print(f"{name:<34} {_shown(direct, ask):>34}  | {_shown(through, ask):>34}  | {_added(direct, through)}"
          f"  lag p99 {lag['p99']:.1f} ms")  # fmt: skip


def _shown(result: float | list[float], ask: Ask) -> str:
    if isinstance(result, list):
        ordered = sorted(result)
        return f"p50 {statistics.median(ordered):6.0f} us  p99 {ordered[int(0.99 * len(ordered))]:6.0f} us"
    return f"{result:9,.0f}/s  {result * max(map(len, ask)) / 1e6:8,.0f} MB/s"


def _added(direct: float | list[float], through: float | list[float]) -> str:
    if isinstance(direct, list) and isinstance(through, list):
        a, b = sorted(direct), sorted(through)
        p99 = b[int(0.99 * len(b))] - a[int(0.99 * len(a))]
        return f"added p50 {statistics.median(b) - statistics.median(a):.0f} us, p99 {p99:.0f} us"
    assert isinstance(direct, float) and isinstance(through, float)
    return f"{through / direct:.0%} of direct"


def main() -> None:
    """Prints one line for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=3.0, help="for each measurement (default: %(default)s)")
    seconds = parser.parse_args().seconds
    print(f"{'':<34} {'direct':>34}  | {'through the proxy':>34}")
    for name, ask in (("Heartbeat", heartbeat()), ("Produce 1 KiB", produce(1024)), ("Fetch 1 KiB", fetch(1024))):
        measure(f"{name}, 2,000/s", ask, seconds, lambda port, a=ask: latencies(port, a, seconds, 1 / 2000))  # type: ignore[misc]
    for name, ask, ahead in (
        ("Heartbeat, pipelined", heartbeat(), 200),
        ("Produce 1 KiB, pipelined", produce(1024), 100),
        ("Produce 1 MiB", produce(1 << 20), 4),
        ("Fetch 16 KiB", fetch(16 << 10), 20),
        ("Fetch 1 MiB", fetch(1 << 20), 4),
    ):
        measure(name, ask, seconds, lambda port, a=ask, n=ahead: throughput(port, a, seconds, n))  # type: ignore[misc]


if __name__ == "__main__":
    main()
