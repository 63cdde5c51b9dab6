"""Topics with Kafka's own defaults, whatever those of the cluster are.

A case that says nothing of a setting means Kafka's default. Where a cluster's differs (LogAppendTime, a codec of its
own), the case's topics are given Kafka's, if the cluster lets us: else it would be accused of how it was set up.
"""

from __future__ import annotations

from collections.abc import Mapping

from suites.probe.failures import BrokerAtFault, NotApplicable, Unclear
from suites.probe.wire import Wire

KAFKAS = {
    "cleanup.policy": "delete",
    "compression.type": "producer",
    "max.message.bytes": "1048588",
    "message.timestamp.after.max.ms": "3600000",
    "message.timestamp.before.max.ms": "9223372036854775807",
    "message.timestamp.type": "CreateTime",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
}
"""Topic configs (Kafka 4.4) that decide what a client sees of its own records."""


class PlainTopics(Wire):
    """A probe whose topics have `topic_settings` where the case does not choose otherwise."""

    topic_settings: Mapping[str, str] = {}

    def _created(self, topic: str, partitions: int, configs: Mapping[str, str], replicas: int | None) -> bool:
        return super()._created(topic, partitions, {**self.topic_settings, **configs}, replicas)


def settings_for_plain_topics(wire: PlainTopics) -> dict[str, str]:
    """What a topic must be told on this cluster to be as Kafka's; nothing where the cluster does not tell or obey."""
    if not (wire.versions("CreateTopics") and wire.versions("DescribeConfigs")):
        return {}
    try:
        wanted = _unlike_kafkas(wire, wire.new_topic("as-it-comes"))
        if not wanted:
            return {}
        wire.topic_settings = wanted
        return {} if _unlike_kafkas(wire, wire.new_topic("plain")) else wanted
    except (BrokerAtFault, NotApplicable, Unclear):
        return {}  # a target that cannot even do this is judged by the cases


def _unlike_kafkas(wire: Wire, topic: str) -> dict[str, str]:
    told = wire.configs_of_topic(topic)
    return {name: value for name, value in KAFKAS.items() if told.get(name) not in (None, value)}
