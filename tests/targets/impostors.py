"""Servers that are no Kafka: each has one way with every connection."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


@contextmanager
def listening(converse: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that has one way with every connection; its address."""

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=meet, args=(connection,), daemon=True).start()

    def meet(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            converse(connection)

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


def http_by_lines(connection: socket.socket) -> None:
    """As most HTTP servers: it waits for the end of the request before it says that it makes no sense."""
    with connection.makefile("rb") as stream:
        if stream.readline(1024).endswith(b"\n"):
            connection.sendall(b"HTTP/1.0 501 Unsupported method\r\n\r\n")


def garbage(connection: socket.socket) -> None:
    connection.recv(1024)
    connection.sendall(bytes(range(255, 0, -1)))


def endless(connection: socket.socket) -> None:
    while True:
        connection.sendall(b"x" * 65536)
