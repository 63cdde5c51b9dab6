"""Without a window the proxy is not there, but for addresses and capped ApiVersions."""

from __future__ import annotations

import json
import socket
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brokertrial.faults.proxy.framing import Frames, NotAKafkaFrame
from brokertrial.faults.proxy_process import FaultProxy
from brokertrial.wire import apis, errors
from brokertrial.wire.client import ConnectionClosed
from brokertrial.wire.frames import decode_response, encode_request
from brokertrial.wire.messages import request, response
from brokertrial.wire.records import Record, build_batch


def wait_until(condition: Any, what: str, within_s: float = 5.0) -> None:
    end = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end, f"waited {within_s} s until {what}"
        time.sleep(0.01)


def raw(links: FaultProxy, node: int = 1) -> socket.socket:
    host, port = links.node_address(node).split(":")
    made = socket.create_connection((host, int(port)), 5)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def read_frame(connection: socket.socket) -> bytes:
    stream = connection.makefile("rb")
    size = stream.read(4)
    return size + stream.read(int.from_bytes(size, "big"))


def produce(acks: int = -1, value: bytes = b"v") -> Any:
    data = [{"index": 0, "records": build_batch([Record(None, value, timestamp=1)])}]
    return request("Produce", acks=acks, timeout_ms=1, topic_data=[{"name": "t", "partition_data": data}])


SAMPLES = [
    (produce(), 9),
    (request("ListOffsets", topics=[{"name": "t", "partitions": [{"partition_index": 0}]}]), 7),
    (request("Heartbeat", group_id="g"), 4),
    (request("FindCoordinator", coordinator_keys=["a"]), 4),
    (request("OffsetCommit", group_id="g"), 8),
    (request("CreateTopics", topics=[{"name": "n"}]), 7),
]


@pytest.mark.parametrize("piece", [1, 7, 100_000])
def test_bytes_pass_as_they_are_whatever_pieces_they_come_in(fake: Any, links: Any, piece: int) -> None:
    stream = b"".join(encode_request(message, version, n, "me") for n, (message, version) in enumerate(SAMPLES))
    with raw(links) as connection:
        for start in range(0, len(stream), piece):
            connection.sendall(stream[start : start + piece])
        got = [read_one(connection) for _ in SAMPLES]
    assert b"".join(len(g.frame).to_bytes(4, "big") + g.frame for g in fake.got) == stream
    for n, (frame, sent) in enumerate(zip(got, fake.sent, strict=True)):
        if SAMPLES[n][0]._api != "FindCoordinator":
            assert frame == sent
    assert [int.from_bytes(frame[4:8], "big") for frame in got] == list(range(len(SAMPLES)))


def read_one(connection: socket.socket) -> bytes:
    data = b""
    while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
        data += connection.recv(1 if len(data) < 4 else 4 + int.from_bytes(data[:4], "big") - len(data))
    return data


def test_only_addresses_change_and_each_node_keeps_its_own(fake: Any, links: Any, connect: Any) -> None:
    client = connect()
    ours = {node: int(links.node_address(node).split(":")[1]) for node in (1, 2)}
    hint = [{"node_id": node, "host": "127.0.0.1", "port": port} for node, port in fake.ports.items()]
    moved = {"index": 0, "error_code": 6, "current_leader": {"leader_id": 2, "leader_epoch": 9}}
    fake.answers["Produce"] = lambda *_: response(
        "Produce", responses=[{"name": "t", "partition_responses": [moved]}], node_endpoints=hint
    )
    for api in ("Fetch", "ShareFetch", "ShareAcknowledge"):
        fake.answers[api] = lambda *_, api=api: response(api, node_endpoints=hint)
    fake.answers["DescribeCluster"] = lambda *_: response("DescribeCluster", brokers=fake.brokers("broker_id"))

    metadata = client.call(request("Metadata", topics=None), 12)
    assert {b.node_id: b.port for b in metadata.brokers} == ours
    found = client.call(request("FindCoordinator", key="g"), 1)
    assert (found.node_id, found.port) == (2, ours[2])
    cluster = client.call(request("DescribeCluster"), 1)
    assert {b.broker_id: b.port for b in cluster.brokers} == ours
    for message, version in (
        (produce(), 10),
        (request("Fetch"), 16),
        (request("ShareFetch"), 1),
        (request("ShareAcknowledge"), 1),
    ):
        assert {e.node_id: e.port for e in client.call(message, version).node_endpoints} == ours, message._api


def test_a_new_node_is_listening_before_the_answer_that_names_it(fake: Any, links: Any, connect: Any) -> None:
    fake.add_node(3 + len(fake.ports))
    node = max(fake.ports)
    metadata = connect().call(request("Metadata", topics=None), 12)
    port = next(b.port for b in metadata.brokers if b.node_id == node)
    with socket.create_connection(("127.0.0.1", port), 5) as connection:
        connection.sendall(encode_request(request("Heartbeat"), 0, 1, "x"))
        read_one(connection)
    assert fake.requests("Heartbeat")[0].node == node


def test_an_unavailable_coordinator_and_controllers_are_left_alone(fake: Any, links: Any, connect: Any) -> None:
    fake.answers["FindCoordinator"] = lambda *_: response(
        "FindCoordinator", error_code=errors.COORDINATOR_NOT_AVAILABLE, node_id=-1, host="", port=-1
    )
    found = connect().call(request("FindCoordinator", key="g"), 1)
    assert (found.node_id, found.host, found.port) == (-1, "", -1)
    place = [{"broker_id": 1, "host": "controller", "port": 9093}]
    fake.answers["DescribeCluster"] = lambda *_: response("DescribeCluster", endpoint_type=2, brokers=place)
    cluster = connect().call(request("DescribeCluster", endpoint_type=2), 1)
    assert (cluster.brokers[0].host, cluster.brokers[0].port) == ("controller", 9093)


def test_api_versions_are_capped_to_what_the_proxy_can_read(fake: Any, links: Any, connect: Any) -> None:
    fake.answers["ApiVersions"] = lambda *_: response(
        "ApiVersions",
        api_keys=[
            {"api_key": 0, "min_version": 0, "max_version": 99},
            {"api_key": 9999, "min_version": 0, "max_version": 1},
        ],
    )
    offered = connect().call(request("ApiVersions"), 3).api_keys
    own = apis.by_name("Produce")
    assert [(e.api_key, e.min_version, e.max_version) for e in offered] == [(0, own.min_version, own.max_version)]


def test_an_api_versions_request_newer_than_ours_is_refused_in_version_0(fake: Any, links: Any) -> None:
    frame = bytearray(encode_request(request("ApiVersions"), 3, 5, "x"))
    frame[6:8] = (40).to_bytes(2, "big")
    with raw(links) as connection:
        connection.sendall(bytes(frame))
        correlation, answer = decode_response("ApiVersions", 0, read_one(connection)[4:])
    assert (correlation, answer.error_code, answer.api_keys[0].api_key) == (5, errors.UNSUPPORTED_VERSION, 18)
    assert fake.got == []


def test_an_api_versions_refusal_of_the_broker_is_read_as_version_0(fake: Any, links: Any) -> None:
    with raw(links) as connection, socket.create_server(("127.0.0.1", 0)) as other:
        del other
        fake.answers["ApiVersions"] = lambda *_: None
        connection.sendall(encode_request(request("ApiVersions"), 3, 5, "x"))
        fake.wait_for("ApiVersions", 1)
        refusal = bytes.fromhex("00000005") + errors.UNSUPPORTED_VERSION.to_bytes(2, "big")
        refusal += bytes.fromhex("00000001 0012 0000 0002")
        fake._connections[-1].sendall(len(refusal).to_bytes(4, "big") + refusal)
        assert read_one(connection)[4:] == refusal


def test_acks_0_waits_for_no_answer(fake: Any, links: Any, connect: Any, seen: Any) -> None:
    client = connect()
    client.offered()
    client.send_bytes(encode_request(produce(acks=0), 9, 900, "p1"))
    assert client.call(request("Heartbeat"), 3).error_code == 0
    assert len(fake.log) == 1
    client.send_bytes(encode_request(produce(acks=0, value=b"last words"), 9, 901, "p1"))
    client.close()
    wait_until(lambda: len(fake.log) == 2, "what was sent before the end arrives")
    assert [b.error for b in seen("batch")] == [None, None]


def test_what_came_with_a_request_at_acks_0_is_answered(fake: Any, links: Any, seen: Any) -> None:
    """The Produce leaves before it is read; only then is it known that nothing waits behind it."""
    newer = bytearray(encode_request(request("ApiVersions"), 3, 6, "x"))
    newer[6:8] = (40).to_bytes(2, "big")
    with raw(links) as connection:
        connection.sendall(encode_request(produce(acks=0), 9, 5, "x") + bytes(newer))
        assert decode_response("ApiVersions", 0, read_one(connection)[4:])[0] == 6
        wait_until(lambda: len(fake.log) == 1, "the record arrives")
    assert [b.producer_id for b in seen("batch")] == [-1]


def test_a_broker_that_answers_out_of_order_is_passed_on_and_told_of(fake: Any, links: Any, seen: Any) -> None:
    fake.answers["Heartbeat"] = lambda *_: None
    with raw(links) as connection:
        for n in (1, 2):
            connection.sendall(encode_request(request("Heartbeat"), 0, n, "x"))
        fake.wait_for("Heartbeat", 2)
        for n in (2, 1):
            fake._connections[-1].sendall(bytes([0, 0, 0, 6, 0, 0, 0, n, 0, 0]))
        assert [read_one(connection)[7] for _ in range(2)] == [2, 1]
    assert len(seen("answer-out-of-order")) == 1


def test_an_unknown_api_passes_and_is_told_of_once(fake: Any, links: Any, seen: Any) -> None:
    frame = bytearray(encode_request(request("Heartbeat"), 0, 1, "x"))
    frame[4:6] = (7777).to_bytes(2, "big")
    for _ in range(2):
        with raw(links) as connection:
            connection.sendall(bytes(frame))
            assert connection.recv(1) == b""  # the broker's doing
    assert len(seen("unknown-api")) == 1


@pytest.mark.parametrize(
    ("hello", "kind"),
    [(bytes.fromhex("16030100f8010000f40303"), "tls"), (b"GET / HTTP/1.1\r\n\r\n", "not-kafka")],
)
def test_what_is_not_kafka_is_told_of(fake: Any, links: Any, seen: Any, hello: bytes, kind: str) -> None:
    with raw(links) as connection:
        connection.sendall(hello)
        wait_until(lambda: seen(kind), f"the event {kind}")
    assert "the client" in json.loads(seen(kind)[0].fields)["what"]


def test_a_node_that_is_down_closes_the_connection_and_a_tls_node_is_told_of() -> None:
    with socket.create_server(("127.0.0.1", 0)) as tls:
        down = socket.create_server(("127.0.0.1", 0))
        nodes = {1: ("127.0.0.1", down.getsockname()[1]), 2: ("127.0.0.1", tls.getsockname()[1])}
        down.close()
        rows: list[Any] = []
        with FaultProxy.start([nodes[1]], nodes=nodes) as links:
            with pytest.raises(OSError), raw(links) as connection:
                connection.sendall(encode_request(request("Heartbeat"), 0, 1, "x"))
                if connection.recv(1) == b"":
                    raise ConnectionResetError
            with raw(links, 2) as connection:
                connection.sendall(encode_request(request("Heartbeat"), 0, 1, "x"))
                peer, _ = tls.accept()
                peer.sendall(bytes.fromhex("15030300020232"))
                assert connection.recv(100) == bytes.fromhex("15030300020232")
                peer.close()
            links.flush()
            links.drain(rows.append)
        kinds = {row.kind for row in rows}
        assert {"upstream-down", "tls"} <= kinds


def test_a_slow_reader_is_not_buffered_for(fake: Any, links: Any) -> None:
    """A client that does not read stops the broker's sending: the proxy keeps megabytes, not all of it."""
    fake.answers["Heartbeat"] = lambda *_: None
    sent = 0
    with raw(links) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        for n in range(200):
            connection.sendall(encode_request(request("Heartbeat"), 0, n, "x"))
        fake.wait_for("Heartbeat", 200)
        broker = fake._connections[-1]
        broker.settimeout(0.5)
        with pytest.raises(TimeoutError):
            for n in range(200):
                body = n.to_bytes(4, "big") + bytes(1 << 20)
                broker.sendall(len(body).to_bytes(4, "big") + body)
                sent += len(body)
    assert sent < 40 << 20


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=40), max_size=8), st.lists(st.integers(1, 30), min_size=1, max_size=50))
def test_frames_are_the_same_however_they_are_cut(bodies: list[bytes], cuts: list[int]) -> None:
    frames = [len(body).to_bytes(4, "big") + body for body in bodies]
    stream, found, reader = b"".join(frames), [], Frames(1000, 0)
    while stream:
        for cut in cuts:
            found += reader.feed(stream[:cut]) if stream[:cut] else []
            stream = stream[cut:]
    assert found == frames
    assert reader.rest() == b""


def test_frames_before_garbage_are_not_lost() -> None:
    with pytest.raises(NotAKafkaFrame) as caught:
        Frames(1000, 0).feed(bytes([0, 0, 0, 1, 9]) + b"\xff\xff\xff\xff")
    assert caught.value.frames == [bytes([0, 0, 0, 1, 9])]


def test_closing_by_the_broker_reaches_the_client(fake: Any, links: Any, connect: Any) -> None:
    client = connect()
    client.offered()
    fake._connections[-1].shutdown(2)
    with pytest.raises(ConnectionClosed):
        client.receive_frame(5.0)


def test_an_address_that_means_nothing_here_is_reached_where_it_really_is(fake: Any) -> None:
    real = fake.ports[1]
    place = [{"node_id": 1, "host": "kafka-1.internal", "port": 9092}]
    fake.answers["Metadata"] = lambda *_: response("Metadata", brokers=place)
    reach = {"kafka-1.internal:9092": f"127.0.0.1:{real}"}
    with FaultProxy.start([("kafka-1.internal", 9092)], reach=reach) as links:
        assert links.nodes() == [1]
        ports = links.ports()
        with raw(links) as connection:
            connection.sendall(encode_request(request("Heartbeat"), 0, 1, "x"))
            read_one(connection)
    with FaultProxy.start([("kafka-1.internal", 9092)], reach=reach, ports=ports) as again:
        assert again.ports() == ports  # a node keeps its port over a restart of the proxy
