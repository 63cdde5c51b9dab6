"""A cluster of which only an address is known, and the strangers that may listen there instead."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from suites.targets import TargetNotReady, bootstrap, open_target, strangers
from suites.targets.ports import free_ports
from tests.targets.conftest import MakeTarget


@contextmanager
def listening(converse: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that has one way with every connection; its address."""

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                try:
                    converse(connection)
                except OSError:
                    continue

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(timeout=10)


def http(connection: socket.socket) -> None:
    connection.recv(1024)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")


def chatty(connection: socket.socket) -> None:
    connection.sendall(b"220 mail.example ESMTP\r\n")
    connection.recv(1024)


def closing(connection: socket.socket) -> None:
    connection.recv(1024)


def silent(connection: socket.socket) -> None:
    while connection.recv(1024):
        pass


def tls(connection: socket.socket) -> None:
    # Without a certificate the handshake cannot succeed; the refusal is TLS all the same.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.wrap_socket(connection, server_side=True).close()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "_LOOK_FOR_S", 0.5)
    monkeypatch.setattr(strangers, "_PATIENCE_S", 0.5)


@pytest.mark.parametrize(
    ("converse", "words"),
    [
        (http, "is an HTTP server, not Kafka"),
        (chatty, "is no Kafka broker: it answers b'220 mail.example"),
        (closing, "closes the connection on a Kafka request"),
        (silent, "answers nothing within 0.5 s: it does not look like Kafka"),
        (tls, "speaks TLS, and only plaintext clusters can be tried so far"),
    ],
)
def test_a_stranger_is_named_at_once(converse: Callable[[socket.socket], None], words: str, tmp_path: Path) -> None:
    with listening(converse) as address, pytest.raises(TargetNotReady) as refused:
        open_target(f"bootstrap:{address}", tmp_path).start()
    assert words in str(refused.value) and address in str(refused.value)
    assert refused.value.exit_status == 7


def test_nobody_there_is_said_within_15_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(bootstrap, "_LOOK_FOR_S", 2.0)
    port = free_ports(1)[0]
    begun = time.monotonic()
    with pytest.raises(TargetNotReady, match=r"did not answer within 2 s: .*cannot connect") as refused:
        open_target(f"bootstrap:127.0.0.1:{port}", tmp_path).start()
    assert time.monotonic() - begun < 15 and refused.value.exit_status == 7


def test_a_name_that_does_not_resolve_is_said(tmp_path: Path) -> None:
    with pytest.raises(TargetNotReady, match=r"nowhere\.invalid"):
        open_target("bootstrap:nowhere.invalid:9092", tmp_path).start()


def test_a_login_is_recognised(tmp_path: Path) -> None:
    from tests.targets.tiny_broker import answer
    from wire.frames import decode_request, encode_response

    def wants_sasl(connection: socket.socket) -> None:
        with connection.makefile("rb") as stream:
            while len(size := stream.read(4)) == 4:
                header, _ = decode_request(stream.read(int.from_bytes(size, "big")))
                if header.api_key != 18:
                    return
                message = answer("ApiVersions", [])
                connection.sendall(encode_response(message, header.api_version, header.correlation_id))

    with listening(wants_sasl) as address, pytest.raises(TargetNotReady, match=r"probably wants a login \(SASL\)"):
        open_target(f"bootstrap:{address}", tmp_path).start()


def test_a_broker_of_somebody_else_is_only_asked(file_target: MakeTarget, tmp_path: Path) -> None:
    dead = free_ports(1)[0]
    with file_target() as theirs:
        with open_target(f"bootstrap:127.0.0.1:{dead},{theirs.bootstrap}", tmp_path / "ours") as target:
            assert target.alive() and target.nodes == {} and target.claims == {}
            assert target.version() == "not stated"
            assert "started" not in target.capabilities and "kill" not in target.capabilities
            target.recover()
        assert theirs.alive()
        theirs.stop()
        assert not target.alive()
