"""What the harness and the proxy process say to each other: length-prefixed msgpack over a socket pair."""

import struct
from typing import Any

import msgspec

LENGTH = struct.Struct(">I")
LIMIT = 256 * 1024 * 1024


class Setup(msgspec.Struct, omit_defaults=True):
    """All that a proxy is told before it serves; the first message on the channel."""

    bootstrap: list[tuple[str, int]]
    nodes: dict[int, tuple[str, int]] = {}
    """Nodes known from the start, by id, as they advertise themselves."""
    ports: dict[int, int] = {}
    """The ports of an earlier proxy of this run: a node keeps its own."""
    seed: int = 0
    host: str = "127.0.0.1"
    bootstrap_port: int = 0
    reach: dict[str, str] = {}
    """Advertised `host:port` -> where it is reached from here."""
    leaderless: bool = False
    record: tuple[str, ...] = ("*",)
    """Patterns of the topics whose batches are reported."""
    aliases: tuple[str, str] = ("", "")
    """How clients disguise their names (faults/client_aliases.py): prefix and key."""
    addresses: str = "rewrite"
    """`rewrite`; `strip` clears the optional hints of KIP-951; `leak` passes real addresses (to test the leak
    detector)."""
    connect_timeout_s: float = 5.0
    frame_limit: int = 128 * 1024 * 1024
    queue_limit: int = 8 * 1024 * 1024
    park_limit: int = 64 * 1024 * 1024


class ControlRequest(msgspec.Struct, omit_defaults=True):
    """Harness to proxy: do this."""

    id: int
    what: str
    args: dict[str, Any] = {}


class ControlReport(msgspec.Struct, omit_defaults=True):
    """Proxy to harness: the answer to an ask, and what was seen meanwhile: rows by table, reached triggers, hits by
    window."""

    id: int | None = None
    result: Any = None
    error: str | None = None
    rows: list[tuple[str, msgspec.Raw]] = []
    reached: list[tuple[str, str]] = []
    """(window, condition as JSON) of message triggers that came true."""
    edges: list[tuple[str, str, int]] = []
    """(window, begin or hit or end, ns): what the proxy did by itself."""


_encode = msgspec.msgpack.Encoder().encode


def pack(message: msgspec.Struct) -> bytes:
    """A message as bytes on the channel."""
    body = _encode(message)
    return LENGTH.pack(len(body)) + body


class Unpacker:
    """Cuts a byte stream into messages' bodies."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The bodies that are complete now."""
        self._buffer += data
        bodies = []
        while len(self._buffer) >= LENGTH.size:
            (size,) = LENGTH.unpack_from(self._buffer)
            if size > LIMIT:
                raise ValueError(f"a message of {size} bytes on the control channel")
            if len(self._buffer) < LENGTH.size + size:
                break
            bodies.append(bytes(self._buffer[LENGTH.size : LENGTH.size + size]))
            del self._buffer[: LENGTH.size + size]
        return bodies
