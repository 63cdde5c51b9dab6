"""ApiVersions (KIP-35, KIP-511): what this broker serves, and in which versions.

Versions 0-5. An unknown version is answered as version 0 with error 35 and the range of this API alone (Kafka since
2.4); the listener does that. Client software name and version are checked from v3 on: INVALID_REQUEST. Produce is
advertised from version 0, as Kafka 4 does for librdkafka (KAFKA-18659), and served from 3. Features whose lowest level
is 0 are left out before v4: older clients cannot read that (KAFKA-17011, KAFKA-17492). v5: a client that states
the cluster and the node it expects, and finds others, is told to start over: REBOOTSTRAP_REQUIRED; one that states
only half of it: INVALID_REQUEST.
"""

from __future__ import annotations

import re

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles
from brokertrial.reference_impl.api.broker import Broker
from brokertrial.reference_impl.settings.emulated import levels
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
_API_VERSIONS, _PRODUCE = 18, 0


@handles("ApiVersions", 0, 5)
def api_versions(request: Struct, context: Context) -> Struct:
    """Lists every API once."""
    if (
        context.version >= 3
        and not bugs.on("P57")
        and not (
            _SOFTWARE.fullmatch(request.client_software_name) and _SOFTWARE.fullmatch(request.client_software_version)
        )
    ):
        return response("ApiVersions", error_code=errors.INVALID_REQUEST)
    if error := _wrong_address(request, context.node):
        return response("ApiVersions", error_code=error)
    if context.version < 3:
        return response("ApiVersions", api_keys=_ranges(context.node))
    features = _features(context.node)
    readable = {n: each for n, each in features.items() if each[0] or context.version >= 4 or bugs.on("D63")}
    return response(
        "ApiVersions",
        api_keys=_ranges(context.node),
        supported_features=[
            {"name": name, "min_version": low, "max_version": high} for name, (low, high, _) in readable.items()
        ],
        finalized_features_epoch=_epoch(context.node),
        finalized_features=[
            {"name": name, "max_version_level": level, "min_version_level": level}
            for name, (_, _, level) in features.items()
            if level
        ],
    )


def _epoch(node: Broker) -> int:
    if bugs.on("H06"):
        return -1
    return 0 if bugs.on("H08") and node.image.starts > 1 else node.image.starts


def _wrong_address(request: Struct, node: Broker) -> int:
    """Whether the client meant to talk to somebody else (v5+)."""
    if (request.cluster_id is None) != (request.node_id == -1):
        return errors.INVALID_REQUEST
    if request.cluster_id is None or (
        request.cluster_id == node.cluster_id and (request.node_id == node.node_id or bugs.on("H09"))
    ):
        return errors.NONE
    return errors.REBOOTSTRAP_REQUIRED


def unsupported_version(node: Broker) -> Struct:
    """The answer to a version that is not served; it goes out in version 0."""
    own = [entry for entry in _ranges(node) if entry["api_key"] == _API_VERSIONS and not bugs.on("H07")]
    return response("ApiVersions", error_code=errors.UNSUPPORTED_VERSION, api_keys=own)


def _ranges(node: Broker) -> list[dict[str, int]]:
    all_served = list(node.served_versions.items())
    excess = 1 if bugs.on("M39h") else 0
    return [
        {
            "api_key": key,
            "min_version": 0 if key == _PRODUCE and not bugs.on("H30") else oldest,
            "max_version": newest + excess,
        }
        for key, (oldest, newest) in [*all_served, *all_served[: 1 if bugs.on("P56") else 0]]
    ]


def _features(node: Broker) -> dict[str, tuple[int, int, int]]:
    """Feature -> (lowest, highest, finalized) level."""
    return levels(node.config.emulate, node.config["group.version"], node.config["transaction.version"])
