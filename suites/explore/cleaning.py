"""What a sequence made is removed after it, as far as that can be done."""

from __future__ import annotations

from contextlib import suppress

from brokertrial.suites.explore.model import Model
from brokertrial.suites.explore.peer import Peer
from brokertrial.wire.codec import Malformed
from brokertrial.wire.conversation import ConnectionFailed

GROUP_RESOURCE, DELETE = 32, 1
SHARE_RESET = "share.auto.offset.reset"


def clean(peer: Peer, model: Model) -> None:
    """Removes topics, groups, quotas and credentials from one broker."""
    with suppress(ConnectionFailed, Malformed, OSError):
        peer.disconnect()
        _topics(peer, model)
        if peer.offers("DeleteGroups"):
            others = [model.consumers.name, model.shares.name, model.streams.name]
            peer.ask("DeleteGroups", 1, groups_names=[*(group.name for group in model.groups), *others])
        if model.shares.reset is not None:
            _group_settings(peer, model)
        if model.quotas:
            _quotas(peer, model)
        if any(model.credentials.values()):
            _credentials(peer, model)


def _topics(peer: Peer, model: Model) -> None:
    names = sorted({topic.name for topic in model.topics})
    if names and peer.offers("DeleteTopics"):
        topics = [{"name": name} for name in names]
        peer.ask("DeleteTopics", 5, topic_names=names, topics=topics, timeout_ms=5_000)


def _group_settings(peer: Peer, model: Model) -> None:
    change = {"name": SHARE_RESET, "config_operation": DELETE, "value": None}
    resources = [{"resource_type": GROUP_RESOURCE, "resource_name": model.shares.name, "configs": [change]}]
    peer.ask("IncrementalAlterConfigs", 1, resources=resources)


def _quotas(peer: Peer, model: Model) -> None:
    entries = [
        {
            "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity],
            "ops": [{"key": key, "value": 0.0, "remove": True} for key in values],
        }
        for entity, values in model.quotas.items()
    ]
    peer.ask("AlterClientQuotas", 0, entries=entries, validate_only=False)


def _credentials(peer: Peer, model: Model) -> None:
    gone = [{"name": user, "mechanism": each} for user, kept in model.credentials.items() for each in kept]
    peer.ask("AlterUserScramCredentials", 0, deletions=gone, upsertions=[])
