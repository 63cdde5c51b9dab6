"""What a cluster's own settings keep from its clients although its brokers know the API.

Said by the name of the setting, and held against nobody: neither a case nor a claim fails for how a cluster is set up.
"""

from __future__ import annotations

import msgspec

from brokertrial.suites.probe.failures import BrokerAtFault, NotApplicable, Unclear
from brokertrial.suites.probe.wire import Wire


class ClusterSettings(msgspec.Struct, frozen=True):
    """How a cluster is set up, as far as a probe has to mind it; kept with each history."""

    topic_settings: dict[str, str] = {}
    """What a topic is told to be as Kafka's (suites/probe/default_topics.py)."""
    longest_transaction_ms: int | None = None
    consumer_session_ms: int | None = None
    """Of members of KIP-848 groups."""


PROTOCOLS = "group.coordinator.rebalance.protocols"
NEEDS_PROTOCOL = {"ConsumerGroupHeartbeat": "consumer"}
POLICY = "create.topic.policy.class.name"
LONGEST_TRANSACTION = "transaction.max.timeout.ms"
CONSUMER_SESSION = "group.consumer.session.timeout.ms"


def withheld_apis(wire: Wire) -> dict[str, str]:
    """API -> the sentence that names the setting which keeps it back (KIP-848: `classic` groups alone)."""
    told = _setting(wire, PROTOCOLS)
    if not told:
        return {}
    allowed = {word.strip() for word in told.split(",")}
    return {
        api: f"the cluster's {PROTOCOLS} is `{told}`: {api} is for `{protocol}`"
        for api, protocol in NEEDS_PROTOCOL.items()
        if protocol not in allowed
    }


def longest_transaction_ms(wire: Wire) -> int | None:
    """Above this a producer may not set its transaction timeout; None where the cluster does not say.

    Raises: what kept the cluster from answering.
    """
    return _number(wire, LONGEST_TRANSACTION)


def consumer_session_ms(wire: Wire) -> int | None:
    """After so long without a heartbeat a member of a KIP-848 group is removed; None where the cluster does not say.

    Raises: what kept the cluster from answering.
    """
    return _number(wire, CONSUMER_SESSION)


def _number(wire: Wire, name: str) -> int | None:
    value = wire.setting(name)
    if value is None and wire.settings_failed is not None:
        raise wire.settings_failed
    return int(value) if value and value.isdecimal() else None


def states_a_policy(wire: Wire) -> bool:
    """Whether the cluster says that a policy decides which topics may be made (KIP-108)."""
    return bool(_setting(wire, POLICY))


def _setting(wire: Wire, name: str) -> str | None:
    try:
        return wire.setting(name)
    except (BrokerAtFault, NotApplicable, Unclear):
        return None  # a target that cannot even do this is judged by the cases
