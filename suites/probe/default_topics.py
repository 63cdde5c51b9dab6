"""Topics with Kafka's own defaults, whatever those of the cluster are.

A case that says nothing of a setting means Kafka's default. Where a cluster's differs (LogAppendTime, a codec of its
own), the case's topics are given Kafka's, if the cluster lets us: else it would be accused of how it was set up.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import TypeVar

from brokertrial.suites.probe.cluster_settings import ClusterSettings, consumer_session_ms, longest_transaction_ms
from brokertrial.suites.probe.failures import BrokerAtFault, NotApplicable, Unclear
from brokertrial.suites.probe.producer import Producer
from brokertrial.suites.probe.wire import Wire

T = TypeVar("T")
KAFKAS = {
    "cleanup.policy": "delete",
    "compression.type": "producer",
    "max.message.bytes": "1048588",
    "message.timestamp.after.max.ms": "3600000",
    "message.timestamp.before.max.ms": "9223372036854775807",
    "message.timestamp.type": "CreateTime",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
    "segment.bytes": "1073741824",
}
"""Topic configs (Kafka 4.4) that decide what a client sees of its own records."""
ALLOWED_BY_MOST_MS = 60_000
"""A transaction timeout for clusters that do not say what they allow: Kafka's default limit is 15 minutes."""
TRIES = 3


class DefaultTopicsProbe(Wire):
    """A probe whose topics have Kafka's settings where the case does not choose otherwise.

    Its producers keep to the longest transaction timeout that the cluster allows.
    """

    set_up = ClusterSettings()

    def producer(self, transactional_id: str | None = None, *, timeout_ms: int = 30_000, via: str = "main") -> Producer:
        allowed = self.set_up.longest_transaction_ms or ALLOWED_BY_MOST_MS
        return super().producer(transactional_id, timeout_ms=min(timeout_ms, allowed), via=via)

    @property
    def consumer_session_ms(self) -> int | None:
        return self.set_up.consumer_session_ms

    @property
    def agreed(self) -> Mapping[str, str]:  # type: ignore[override]
        return self.set_up.topic_settings

    def _created(self, topic: str, partitions: int, configs: Mapping[str, str], replicas: int | None) -> bool:
        about_settings = self.case_context.case.startswith("admin/")  # these want them as the cluster makes them
        settings = {} if about_settings else self.set_up.topic_settings
        return super()._created(topic, partitions, {**settings, **configs}, replicas)


def read_cluster_settings(new_probe: Callable[[], DefaultTopicsProbe]) -> ClusterSettings:
    """How the cluster is set up, asked again where a busy one did not answer; what it never says is left out."""
    topic_settings = _asked_again(new_probe, settings_for_default_topics)
    return ClusterSettings(
        topic_settings or {},
        _asked_again(new_probe, longest_transaction_ms),
        _asked_again(new_probe, consumer_session_ms),
    )


def _asked_again(new_probe: Callable[[], DefaultTopicsProbe], ask: Callable[[DefaultTopicsProbe], T]) -> T | None:
    for _ in range(TRIES):
        with contextlib.suppress(BrokerAtFault, Unclear):
            return ask(new_probe())
    return None  # a target that cannot even do this is judged by the cases


def settings_for_default_topics(wire: DefaultTopicsProbe) -> dict[str, str]:
    """What a topic must be given on this cluster to be as Kafka's; nothing where the cluster does not say or obey.

    Raises: what kept the cluster from answering.
    """
    if not (wire.versions("CreateTopics") and wire.versions("DescribeConfigs")):
        return {}
    try:
        wanted = _unlike_kafkas(wire, wire.new_topic("as-it-comes"))
        if not wanted:
            return {}
        wire.set_up = ClusterSettings(wanted)
        return {} if _unlike_kafkas(wire, wire.new_topic("plain")) else wanted
    except NotApplicable:
        return {}


def _unlike_kafkas(wire: Wire, topic: str) -> dict[str, str]:
    told = wire.configs_of_topic(topic)
    return {name: value for name, value in KAFKAS.items() if told.get(name) not in (None, value)}
