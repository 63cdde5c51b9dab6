"""Asks a cluster for its nodes before the proxy serves, so that each has its listener from the start."""

from collections.abc import Mapping

from brokertrial.wire.addresses import reached
from brokertrial.wire.client import Connection, ConnectionFailed
from brokertrial.wire.codec import Malformed
from brokertrial.wire.messages import Struct, request

TIMEOUT_SECONDS = 5.0
NAME = "brokertrial-proxy"
OLDEST_METADATA = 1  # version 0 cannot ask for no topic


def discover(
    bootstrap: list[tuple[str, int]], timeout_s: float = TIMEOUT_SECONDS, reach: Mapping[str, str] | None = None
) -> dict[int, tuple[str, int]]:
    """Node id -> advertised address, from the first bootstrap address that answers; empty when none does (they may
    come later)."""
    for host, port in bootstrap:
        try:
            with Connection(*reached(host, port, reach or {}), client_id=NAME, timeout_s=timeout_s) as broker:
                answer = _metadata(broker)
        except (ConnectionFailed, Malformed):
            continue
        return {broker.node_id: (broker.host, broker.port) for broker in answer.brokers}
    return {}


def _metadata(broker: Connection) -> Struct:
    """The nodes, in the lowest version of Metadata that this broker speaks."""
    offered = broker.call(request("ApiVersions"), 0)
    lowest = next((entry.min_version for entry in offered.api_keys if entry.api_key == 3), OLDEST_METADATA)
    return broker.call(request("Metadata", topics=[]), max(lowest, OLDEST_METADATA))
