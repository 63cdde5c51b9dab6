"""Asks a cluster for its nodes before the proxy serves, so that each has its listener from the start."""

import socket
from collections.abc import Mapping

from brokertrial.wire.codec import Malformed
from brokertrial.wire.frames import decode_response, encode_request
from brokertrial.wire.messages import Struct, request

TIMEOUT_SECONDS = 5.0
NAME = "brokertrial-proxy"
LONGEST_ANSWER = 16 * 1024 * 1024
OLDEST_METADATA = 1  # version 0 cannot ask for no topic


def discover(
    bootstrap: list[tuple[str, int]], timeout_s: float = TIMEOUT_SECONDS, reach: Mapping[str, str] | None = None
) -> dict[int, tuple[str, int]]:
    """Node id -> advertised address, from the first bootstrap address that answers; empty when none does (they may
    come later)."""
    for host, port in bootstrap:
        target = (reach or {}).get(f"{host}:{port}", f"{host}:{port}")
        reached, _, number = target.rpartition(":")
        try:
            with socket.create_connection((reached, int(number)), timeout_s) as connection:
                answer = _metadata(connection)
        except (OSError, Malformed, ValueError):
            continue
        return {broker.node_id: (broker.host, broker.port) for broker in answer.brokers}
    return {}


def _metadata(connection: socket.socket) -> Struct:
    """The nodes, in the lowest version of Metadata that this broker speaks."""
    answer = _ask(connection, request("ApiVersions"), 0)
    lowest = next((entry.min_version for entry in answer.api_keys if entry.api_key == 3), OLDEST_METADATA)
    return _ask(connection, request("Metadata", topics=[]), max(lowest, OLDEST_METADATA))


def _ask(connection: socket.socket, message: Struct, version: int) -> Struct:
    connection.sendall(encode_request(message, version, 1, NAME))
    size = int.from_bytes(_exactly(connection, 4), "big", signed=True)
    if not 0 < size <= LONGEST_ANSWER:
        raise ValueError("no Kafka is spoken there")
    return decode_response(message._api, version, _exactly(connection, size))[1]


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise ConnectionResetError("closed before the whole answer came")
        data += more
    return bytes(data)
