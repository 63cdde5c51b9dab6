"""Puts the proxy's addresses into the seven answers that carry a broker's, and caps ApiVersions to what we can read."""

from collections.abc import Callable, Iterator
from typing import Any

from brokertrial.wire import apis, errors
from brokertrial.wire.messages import Struct, response

MapAddress = Callable[[int, str, int], tuple[str, int]]
"""(node id, host, port) as advertised -> where clients shall go instead; binds that listener first."""

METADATA, FIND_COORDINATOR, API_VERSIONS, DESCRIBE_CLUSTER = 3, 10, 18, 60
_FIRST_WITH_ADDRESS = {0: 10, 1: 16, METADATA: 0, FIND_COORDINATOR: 0, DESCRIBE_CLUSTER: 0, 78: 0, 79: 0}
_CONTROLLERS = 2


def carries_addresses(key: int, version: int) -> bool:
    """Whether an answer of this API and version can name a broker's address."""
    first = _FIRST_WITH_ADDRESS.get(key)
    return first is not None and version >= first


def rewrite_addresses(answer: Struct, key: int, version: int, place: MapAddress, strip: bool = False) -> bool:
    """Rewrites every node's address in place, by node id; whether anything was there to rewrite. `strip` clears hints
    instead."""
    if strip and key in (0, 1, 78, 79):
        had = bool(answer.node_endpoints)
        answer.node_endpoints = []
        return had
    changed = False
    for holder, node in _holders(answer, key, version):
        if node >= 0 and holder.port > 0:
            holder.host, holder.port = place(node, holder.host, holder.port)
            changed = True
    return changed


def _holders(answer: Struct, key: int, version: int) -> Iterator[tuple[Any, int]]:
    """Everything in an answer that has a host and a port of a broker, with that broker's id."""
    if key == METADATA:
        yield from ((broker, broker.node_id) for broker in answer.brokers)
    elif key == FIND_COORDINATOR:
        holders = [answer] if version < 4 else answer.coordinators
        yield from ((holder, holder.node_id) for holder in holders)
    elif key == DESCRIBE_CLUSTER:
        if answer.endpoint_type != _CONTROLLERS:  # controllers are another address space, which clients do not enter
            yield from ((broker, broker.broker_id) for broker in answer.brokers)
    else:
        yield from ((endpoint, endpoint.node_id) for endpoint in answer.node_endpoints)


def cap_versions(answer: Struct) -> bool:
    """Leaves only APIs and versions that the proxy can read; whether that took anything away."""
    kept = []
    changed = False
    for entry in answer.api_keys:
        api = apis.by_key(entry.api_key)
        if api is None or entry.min_version > api.max_version or entry.max_version < api.min_version:
            changed = True
            continue
        low, high = max(entry.min_version, api.min_version), min(entry.max_version, api.max_version)
        if (low, high) != (entry.min_version, entry.max_version):
            entry.min_version, entry.max_version = low, high
            changed = True
        kept.append(entry)
    answer.api_keys = kept
    return changed


def versions_refused() -> Struct:
    """The answer (to be sent as version 0) to an ApiVersions request that is newer than we can read (KIP-511)."""
    own = apis.by_name("ApiVersions")
    known = {"api_key": own.key, "min_version": own.min_version, "max_version": own.max_version}
    return response("ApiVersions", error_code=errors.UNSUPPORTED_VERSION, api_keys=[known])


def answer_version(key: int, version: int, body: bytes | memoryview) -> int:
    """The version that an answer is really written in: a broker refuses an ApiVersions version in version 0."""
    refused = key == API_VERSIONS and bytes(body[:2]) == errors.UNSUPPORTED_VERSION.to_bytes(2, "big")
    return 0 if refused else version
