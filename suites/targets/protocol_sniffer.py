"""What listens on a port where a plaintext Kafka was expected: TLS, HTTP, something silent, a login."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
from concurrent.futures import ThreadPoolExecutor

_PATIENCE_S = 4.0
_MORE_PATIENCE_S = 2.0
"""For what is asked only because nothing came back: all of it together must be said within 15 s."""
LOGIN = (
    "responds to ApiVersions but closes the connection on Metadata; it probably requires SASL, which is not supported"
)
TLS = "speaks TLS; only plaintext listeners are supported"
HTTP = "is an HTTP server, not Kafka"
# ApiVersions version 0, written by hand: every broker since 0.10 answers it, whatever else it thinks of us.
_BODY = struct.pack(">hhih", 18, 0, 1, 6) + b"client"
_API_VERSIONS = struct.pack(">i", len(_BODY)) + _BODY


def identify_listener(place: tuple[str, int]) -> str | None:
    """One clause that follows the address, or None where nothing listens or all is well so far.

    >>> identify_listener(("127.0.0.1", 443))
    'speaks TLS; only plaintext listeners are supported'
    """
    try:
        answer = _answer(place)
    except OSError:
        return None
    if answer is not None and _is_kafka(answer):
        return None
    if answer is None:
        return _silent(place)
    if not answer:
        return TLS if _speaks_tls(place) else "closes the connection on a Kafka request; not a Kafka listener?"
    if answer.startswith(b"\x15"):
        return TLS
    if answer.startswith(b"HTTP/"):
        return HTTP
    return f"is no Kafka broker: it answers {answer[:24]!r}"


def _silent(place: tuple[str, int]) -> str:
    """What says nothing to a Kafka request: most servers of other protocols wait for the rest of a line."""
    with ThreadPoolExecutor() as pool:
        tls, http = pool.submit(_speaks_tls, place), pool.submit(_speaks_http, place)
        if tls.result():
            return TLS
        if http.result():
            return HTTP
    return f"accepts connections but does not respond within {_PATIENCE_S:g} s; not a Kafka listener?"


def _answer(place: tuple[str, int]) -> bytes | None:
    """The first bytes that come back; empty if it closed, None if it stayed silent. OSError if nobody listens."""
    with socket.create_connection(place, timeout=_PATIENCE_S) as connection:
        try:
            connection.sendall(_API_VERSIONS)
            return connection.recv(64)
        except TimeoutError:
            return None
        except OSError:
            return b""


def _is_kafka(answer: bytes) -> bool:
    """A size that is small, then our correlation id."""
    return len(answer) >= 8 and answer[4:8] == b"\0\0\0\x01" and struct.unpack(">i", answer[:4])[0] < 100_000


def _speaks_tls(place: tuple[str, int]) -> bool:
    """Whether a TLS handshake gets anywhere; a certificate that we would not trust is TLS all the same."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with contextlib.suppress(OSError), socket.create_connection(place, timeout=_MORE_PATIENCE_S) as connection:
        try:
            with context.wrap_socket(connection):
                return True
        except ssl.SSLError as error:
            return "ALERT" in (error.reason or "")  # it refuses us, but in TLS: a client certificate is wanted
    return False


def _speaks_http(place: tuple[str, int]) -> bool:
    """Whether a whole HTTP request gets an HTTP answer."""
    with contextlib.suppress(OSError), socket.create_connection(place, timeout=_MORE_PATIENCE_S) as connection:
        connection.sendall(b"HEAD / HTTP/1.0\r\n\r\n")
        return connection.recv(64).startswith(b"HTTP/")
    return False
