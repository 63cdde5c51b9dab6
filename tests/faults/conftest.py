"""A small Kafka of our own, made of `wire`: it remembers every frame it got, and answers as a test tells it to."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from brokertrial.faults.proxy_process import FaultProxy
from brokertrial.wire import apis
from brokertrial.wire.client import Connection
from brokertrial.wire.codec import Malformed
from brokertrial.wire.frames import decode_request, encode_response
from brokertrial.wire.messages import Struct, response

Answerer = Callable[[Struct, int, int], Struct | None]


@dataclass
class Got:
    """One request as the fake got it."""

    node: int
    connection: int
    client: str | None
    api: str
    version: int
    correlation_id: int
    frame: bytes
    request: Any
    at: float


class FakeKafka:
    """Some nodes on loopback; `answers[api]` replaces an answer, None there means silence. `log` holds what Produce
    stored."""

    def __init__(self, nodes: int = 2) -> None:
        self.got: list[Got] = []
        self.sent: list[bytes] = []
        self.answers: dict[str, Answerer] = {}
        self.log: list[tuple[str, int, bytes]] = []
        self.refused: dict[int, Callable[[], None]] = {}
        self._changed = threading.Condition()
        self._connections: list[socket.socket] = []
        self._listeners = {node: socket.create_server(("127.0.0.1", 0)) for node in range(1, nodes + 1)}
        self.ports = {node: listener.getsockname()[1] for node, listener in self._listeners.items()}
        for node, listener in self._listeners.items():
            threading.Thread(target=self._accept, args=(node, listener), daemon=True).start()

    def add_node(self, node: int) -> None:
        """One more node, which nobody has heard of yet."""
        listener = self._listeners[node] = socket.create_server(("127.0.0.1", 0))
        self.ports[node] = listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(node, listener), daemon=True).start()

    def forget(self) -> None:
        """As new, but for the nodes."""
        self.got, self.sent, self.log = [], [], []
        self.answers.clear()

    def requests(self, api: str) -> list[Got]:
        """What it got of one API."""
        return [got for got in list(self.got) if got.api == api]

    def wait_for(self, api: str, count: int, within_s: float = 5.0) -> list[Got]:
        """Waits until it has got that many requests of an API."""
        with self._changed:
            enough = self._changed.wait_for(lambda: len(self.requests(api)) >= count, within_s)
        assert enough, f"{count} {api} requests within {within_s} s; got {len(self.requests(api))}"
        return self.requests(api)

    def close(self) -> None:
        for listener in self._listeners.values():
            listener.close()
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def _accept(self, node: int, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._connections.append(connection)
                number = len(self._connections)
                threading.Thread(target=self._serve, args=(node, number, connection), daemon=True).start()

    def _serve(self, node: int, number: int, connection: socket.socket) -> None:
        stream = connection.makefile("rb")
        with contextlib.suppress(OSError, ValueError), connection:
            while len(size := stream.read(4)) == 4:
                frame = stream.read(int.from_bytes(size, "big"))
                self._handle(node, number, connection, frame)

    def _handle(self, node: int, number: int, connection: socket.socket, frame: bytes) -> None:
        try:
            header, request = decode_request(frame)
        except (Malformed, LookupError, ValueError):
            connection.shutdown(socket.SHUT_RDWR)
            return
        api = apis.by_key(header.api_key)
        assert api is not None
        with self._changed:
            self.got.append(
                Got(
                    node,
                    number,
                    header.client_id,
                    api.name,
                    header.api_version,
                    header.correlation_id,
                    frame,
                    request,
                    time.monotonic(),
                )
            )
            self._changed.notify_all()
        answer = self.answers.get(api.name, self._answer)(request, header.api_version, node)
        if answer is not None:
            data = encode_response(answer, header.api_version, header.correlation_id)
            self.sent.append(data)
            connection.sendall(data)

    def _answer(self, request: Any, version: int, node: int) -> Struct | None:
        maker = getattr(self, "_" + request._api, None)
        return maker(request, version, node) if maker else response(request._api)

    def _ApiVersions(self, request: Any, version: int, node: int) -> Struct:
        known = [
            {"api_key": api.key, "min_version": api.min_version, "max_version": api.max_version}
            for api in apis.ALL
            if api.min_version <= api.max_version
        ]
        return response("ApiVersions", api_keys=known)

    def brokers(self, key: str = "node_id") -> list[dict[str, Any]]:
        """All nodes as they advertise themselves."""
        return [{key: node, "host": "127.0.0.1", "port": port} for node, port in self.ports.items()]

    def _Metadata(self, request: Any, version: int, node: int) -> Struct:
        topics = [
            {
                "name": topic.name,
                "partitions": [
                    {
                        "partition_index": number,
                        "leader_id": 1 + number % 2,
                        "leader_epoch": 3,
                        "replica_nodes": [1, 2, 3],
                    }
                    for number in range(2)
                ],
            }
            for topic in request.topics or []
        ]
        return response("Metadata", brokers=self.brokers(), controller_id=2, topics=topics)

    def _FindCoordinator(self, request: Any, version: int, node: int) -> Struct:
        place = {"node_id": 2, "host": "127.0.0.1", "port": self.ports[2]}
        if version < 4:
            return response("FindCoordinator", **place)
        return response("FindCoordinator", coordinators=[{"key": key, **place} for key in request.coordinator_keys])

    def _Produce(self, request: Any, version: int, node: int) -> Struct | None:
        topics = []
        for topic in request.topic_data:
            parts = []
            for part in topic.partition_data:
                self.log.append((topic.name, part.index, bytes(part.records or b"")))
                parts.append({"index": part.index, "base_offset": len(self.log) - 1, "log_start_offset": 0})
            topics.append({"name": topic.name, "topic_id": topic.topic_id, "partition_responses": parts})
        return response("Produce", responses=topics) if request.acks != 0 else None

    def _ListOffsets(self, request: Any, version: int, node: int) -> Struct:
        topics = [
            {"name": t.name, "partitions": [{"partition_index": p.partition_index, "offset": 7} for p in t.partitions]}
            for t in request.topics
        ]
        return response("ListOffsets", topics=topics)


@pytest.fixture(scope="session")
def fake_and_links() -> Iterator[tuple[FakeKafka, FaultProxy]]:
    fake = FakeKafka()
    with FaultProxy.start([("127.0.0.1", fake.ports[1])], seed=7) as links:
        yield fake, links
    fake.close()


@pytest.fixture
def fake(fake_and_links: tuple[FakeKafka, FaultProxy]) -> Iterator[FakeKafka]:
    """The fake cluster; what a test did to it is undone."""
    fake, links = fake_and_links
    fake.forget()
    yield fake
    for window in links.state()["open"]:
        links.heal(window)
    links.drain(lambda row: None)


@pytest.fixture
def links(fake_and_links: tuple[FakeKafka, FaultProxy]) -> FaultProxy:
    """A proxy in front of the fake cluster."""
    links = fake_and_links[1]
    links.flush()
    links.drain(lambda row: None)
    return links


@pytest.fixture
def connect(links: FaultProxy) -> Iterator[Callable[..., Connection]]:
    """Connects to a node through the proxy: `connect(node=1, client="p1")`."""
    made: list[Connection] = []

    def connect(node: int = 1, client: str = "p1", timeout_s: float = 5.0) -> Connection:
        host, port = links.node_address(node).split(":")
        made.append(Connection(host, int(port), client_id=client, timeout_s=timeout_s))
        return made[-1]

    yield connect
    for connection in made:
        connection.close()


@pytest.fixture
def seen(links: FaultProxy) -> Callable[..., list[Any]]:
    """Everything the proxy reported so far: `seen("hit", window="w1")`, or `seen("batch")`."""
    rows: list[Any] = []

    def seen(kind: str, **columns: Any) -> list[Any]:
        links.flush()
        links.drain(rows.append)
        return [
            row
            for row in rows
            if getattr(row, "kind", type(row).__name__.lower()) == kind
            and all(getattr(row, name) == value for name, value in columns.items())
        ]

    return seen
