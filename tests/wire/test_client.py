"""The raw client against a small server in the test: pipelining, deadlines, broken and foreign answers."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from brokertrial.wire import aio, errors
from brokertrial.wire.client import (
    CannotConnect,
    Connection,
    ConnectionClosed,
    NoCommonVersion,
    NotKafka,
    ResponseTimeout,
    UnexpectedResponse,
    WireExchange,
)
from brokertrial.wire.codec import Malformed
from brokertrial.wire.frames import decode_request, encode_response
from brokertrial.wire.messages import Struct, request, response

Handler = Callable[[socket.socket], None]
WAIT_S = 20.0
OFFERED = [
    {"api_key": 18, "max_version": 3},
    {"api_key": 3, "max_version": 9},
    {"api_key": 0, "min_version": 3, "max_version": 9},
]


def read_frame(peer: socket.socket) -> bytes | None:
    file = peer.makefile("rb", buffering=0)
    size = file.read(4)
    if not size:
        return None
    left, data = int.from_bytes(size, "big"), b""
    while len(data) < left:
        data += file.read(left - len(data))
    return data


def answer_to(frame: bytes) -> tuple[int, int, Struct]:
    header, message = decode_request(frame)
    if message._api == "ApiVersions":
        return header.correlation_id, header.api_version, response("ApiVersions", api_keys=OFFERED)
    return header.correlation_id, header.api_version, response(message._api, throttle_time_ms=header.correlation_id)


def polite(peer: socket.socket) -> None:
    while (frame := read_frame(peer)) is not None:
        correlation_id, version, message = answer_to(frame)
        peer.sendall(encode_response(message, version, correlation_id))


def says(data: bytes) -> Handler:
    """Answers the first request with these bytes and closes."""

    def handler(peer: socket.socket) -> None:
        read_frame(peer)
        peer.sendall(data)

    return handler


@contextmanager
def server(handler: Handler) -> Iterator[int]:
    """One connection after the other, each with the handler; ends with the block."""
    listener = socket.create_server(("127.0.0.1", 0))
    peers: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            peers.append(peer)
            with peer:
                try:
                    handler(peer)
                except OSError:
                    continue

    thread = threading.Thread(target=serve, name="server in the test")
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for peer in peers:
            peer.close()
        thread.join(WAIT_S)
        assert not thread.is_alive(), "the server in the test did not end"


def test_versions_are_asked_once_and_the_highest_common_one_is_used() -> None:
    seen: list[WireExchange] = []
    with server(polite) as port, Connection("127.0.0.1", port, on_exchange=seen.append) as broker:
        broker.call(request("Metadata", topics=None))
        broker.call(request("Metadata", topics=None))
        with pytest.raises(NoCommonVersion, match="Fetch: the broker offers versions none"):
            broker.call(request("Fetch"))
    assert [(each.api, each.version) for each in seen] == [("ApiVersions", 3), ("Metadata", 9), ("Metadata", 9)]
    assert all(each.answer and each.received_ns and each.sent_ns <= each.received_ns for each in seen)
    assert decode_request(seen[1].request)[1] == request("Metadata", topics=None)


def test_pipelining_keeps_the_answers_apart() -> None:
    with server(polite) as port, Connection("127.0.0.1", port) as broker:
        ids = [broker.send(request("Metadata"), version) for version in (5, 9, 8)]
        answers = [broker.receive(WAIT_S) for _ in ids]
        assert [(answer.correlation_id, answer.version) for answer in answers] == list(zip(ids, (5, 9, 8), strict=True))
        assert [answer.struct.throttle_time_ms for answer in answers] == ids
        assert not any(answer.overtook for answer in answers)


def test_an_answer_that_overtakes_is_marked() -> None:
    def backwards(peer: socket.socket) -> None:
        answers = [answer_to(read_frame(peer) or b"") for _ in range(2)]
        for correlation_id, version, message in reversed(answers):
            peer.sendall(encode_response(message, version, correlation_id))

    with server(backwards) as port, Connection("127.0.0.1", port) as broker:
        first, second = broker.send(request("Metadata"), 5), broker.send(request("Metadata"), 5)
        answers = broker.receive(), broker.receive()
        assert [(each.correlation_id, each.overtook) for each in answers] == [(second, True), (first, False)]


def test_answers_that_arrive_byte_by_byte() -> None:
    def slowly(peer: socket.socket) -> None:
        correlation_id, version, message = answer_to(read_frame(peer) or b"")
        for byte in encode_response(message, version, correlation_id):
            peer.sendall(bytes([byte]))

    with server(slowly) as port, Connection("127.0.0.1", port) as broker:
        assert broker.call(request("Metadata"), 5).throttle_time_ms == 1


def test_no_answer_in_time() -> None:
    with server(lambda peer: peer.recv(1) and peer.recv(1 << 20) and peer.recv(1) and None) as port:
        with Connection("127.0.0.1", port) as broker, pytest.raises(ResponseTimeout) as caught:
            broker.call(request("Metadata"), 5, timeout_s=0.1)
        assert str(caught.value) == f"127.0.0.1:{port}: no answer within the time limit (waiting for Metadata)"


def test_closed_in_the_middle_of_a_frame() -> None:
    seen: list[WireExchange] = []
    with (
        server(says(b"\0\0\0\x20abc")) as port,
        Connection("127.0.0.1", port, on_exchange=seen.append) as broker,
        pytest.raises(ConnectionClosed, match="in the middle of a frame, after 7 bytes"),
    ):
        broker.call(request("Metadata"), 5)
    assert [each.answer for each in seen] == [None]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x15\x03\x03\x00\x02\x02\x50", "TLS port"),
        (b"HTTP/1.1 400 Bad Request\r\n", "looks like HTTP"),
        (b"\x7f\xff\xff\xff", "frame size of 2147483647 bytes"),
        (b"\xff\xff\xff\xff", "frame size of -1 bytes"),
    ],
)
def test_what_is_not_kafka_is_said_clearly(data: bytes, message: str) -> None:
    with server(says(data)) as port, Connection("127.0.0.1", port) as broker, pytest.raises(NotKafka, match=message):
        broker.call(request("Metadata"), 5)


def test_wrong_answers() -> None:
    for data, kind in ((b"\0\0\0\x04\0\0\0\x63", UnexpectedResponse), (b"\0\0\0\x05\0\0\0\x01x", Malformed)):
        with server(says(data)) as port, Connection("127.0.0.1", port) as broker, pytest.raises(kind):
            broker.call(request("Metadata"), 5)


@pytest.mark.parametrize(
    "refusal",
    [
        encode_response(response("ApiVersions", error_code=errors.UNSUPPORTED_VERSION), 0, 1),
        bytes.fromhex("00000011" + "00000001" + "00230100120000000200000000"),  # librdkafka's mock
    ],
)
def test_a_refused_api_versions_is_asked_again_in_version_0(refusal: bytes) -> None:
    def picky(peer: socket.socket) -> None:
        read_frame(peer)
        peer.sendall(refusal)
        polite(peer)

    with server(picky) as port, Connection("127.0.0.1", port) as broker:
        assert broker.offered() == {18: (0, 3), 3: (0, 9), 0: (3, 9)}


METADATA_V1 = bytes.fromhex("0000000e" + "00030001" + "0000004d" + "ffff" + "00000000")  # correlation id 77


def test_plain_bytes() -> None:
    seen: list[WireExchange] = []
    with server(polite) as port, Connection("127.0.0.1", port, on_exchange=seen.append) as broker:
        broker.expect("Metadata", 1, 77)
        broker.send_bytes(METADATA_V1)
        assert broker.receive(WAIT_S).correlation_id == 77
        broker.send_bytes(METADATA_V1)
        assert broker.receive_frame(WAIT_S)[:4] == b"\0\0\0\x4d"
    assert [(each.api, bool(each.request), each.answer is None) for each in seen] == [
        ("", True, True),
        ("Metadata", False, False),
        ("", True, True),
        ("", False, False),
    ]


def test_produce_without_acks_is_answered_by_nobody() -> None:
    def swallow(peer: socket.socket) -> None:
        assert decode_request(read_frame(peer) or b"")[1].acks == 0
        polite(peer)

    with server(swallow) as port, Connection("127.0.0.1", port) as broker:
        broker.send(request("Produce", acks=0), 9)
        assert broker.call(request("Metadata"), 5).throttle_time_ms == 2


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(CannotConnect, match=f"127.0.0.1:{port}: cannot connect"):
        Connection("127.0.0.1", port)
    with pytest.raises(CannotConnect):
        asyncio.run(aio.AsyncConnection.open("127.0.0.1", port))


def test_asyncio_calls_share_a_connection() -> None:
    async def talk(port: int) -> None:
        async with await aio.AsyncConnection.open("127.0.0.1", port) as broker:
            answers = await asyncio.gather(*[broker.call(request("Metadata")) for _ in range(20)])
            assert len({answer.throttle_time_ms for answer in answers}) == 20
            with pytest.raises(ResponseTimeout):
                await broker.receive(0.05)
            correlation_id = await broker.send(request("Metadata"), 5)
            assert (await broker.receive(WAIT_S)).correlation_id == correlation_id

    with server(polite) as port:
        asyncio.run(talk(port))


def test_asyncio_says_the_same_about_trouble() -> None:
    async def talk(port: int, kind: type[Exception], message: str) -> None:
        async with await aio.AsyncConnection.open("127.0.0.1", port) as broker:
            with pytest.raises(kind, match=message):
                await broker.call(request("Metadata"), 5)

    with server(says(b"\0\0\0\x20abc")) as port:
        asyncio.run(talk(port, ConnectionClosed, "after 7 bytes"))
    with server(says(b"\x15\x03\x03\x00\x02\x02\x50")) as port:
        asyncio.run(talk(port, NotKafka, "TLS"))
