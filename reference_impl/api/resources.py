"""Topics and brokers as things that have settings: what each has, where it comes from, and how it is replaced."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api.broker import Broker
from brokertrial.reference_impl.control.image import TopicImage
from brokertrial.reference_impl.settings import client_metrics
from brokertrial.reference_impl.settings.broker import BROKER_SETTINGS, UNBOUND_ONCE
from brokertrial.reference_impl.settings.config import BrokerConfig
from brokertrial.reference_impl.settings.group import BOUNDS, GROUP_SETTINGS
from brokertrial.reference_impl.settings.setting import InvalidSetting, Setting
from brokertrial.reference_impl.settings.topic import TOPIC_SETTINGS
from brokertrial.reference_impl.settings.topic_rules import WrongSetting, name_fault
from brokertrial.wire import errors
from brokertrial.wire.messages import ZERO_UUID

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
DYNAMIC_CLIENT_METRICS, DYNAMIC_GROUP = 7, 8
DYNAMIC_TOPIC, DYNAMIC_BROKER, DYNAMIC_DEFAULT_BROKER, STATIC_BROKER, DEFAULT = 1, 2, 3, 4, 5
_NUMBER = re.compile(r"-?[0-9]+([.][0-9]+)?")


@dataclass(frozen=True, slots=True)
class SettingSource:
    """One place that gives a setting its value."""

    name: str
    value: str
    source: int


class Resource(Protocol):
    """Something with settings."""

    @property
    def settings(self) -> dict[str, Setting]: ...

    def own(self) -> dict[str, str]:
        """The settings that were given to this very resource."""

    def sources(self, setting: Setting) -> list[SettingSource]:
        """All places that give the value, the one in force first."""

    def fault(self, key: str, value: str) -> WrongSetting | None:
        """Why this setting cannot be given that value."""

    def misfit(self, configs: dict[str, str]) -> WrongSetting | None:
        """Why these settings, each of which would do, do not go together."""

    def replace(self, configs: dict[str, str]) -> None:
        """Replaces what was given to it, durably."""


class TopicResource:
    """A topic's settings over the broker's."""

    settings = TOPIC_SETTINGS

    def __init__(self, node: Broker, topic: TopicImage) -> None:
        self._node, self._topic = node, topic

    def own(self) -> dict[str, str]:
        return dict(self._topic.configs)

    def sources(self, setting: Setting) -> list[SettingSource]:
        found = []
        if setting.name in self._topic.configs:
            own = setting.shown(self._topic.configs[setting.name])
            found.append(SettingSource(setting.name, own, DYNAMIC_TOPIC))
        if setting.synonym:
            return found + broker_sources(self._node.config, BROKER_SETTINGS[setting.synonym])
        return [*found, SettingSource(setting.name, setting.default, DEFAULT)]

    def fault(self, key: str, value: str) -> WrongSetting | None:
        return _value_fault(TOPIC_SETTINGS.get(key), value, f"Unknown topic config name: {key}")

    def misfit(self, configs: dict[str, str]) -> WrongSetting | None:
        return None

    def replace(self, configs: dict[str, str]) -> None:
        self._node.configure_topic(self._topic, configs)


class BrokerResource:
    """A broker's settings, or (under the empty name) those altered for all brokers."""

    settings = BROKER_SETTINGS

    def __init__(self, node: Broker, name: str) -> None:
        self._node, self._name = node, name

    def own(self) -> dict[str, str]:
        return dict(self._node.image.broker_configs.get(self._name, {}))

    def sources(self, setting: Setting) -> list[SettingSource]:
        return broker_sources(self._node.config, setting, self.own() if self._name else {})

    def fault(self, key: str, value: str) -> WrongSetting | None:
        setting = BROKER_SETTINGS.get(key)
        stuck = key == "max.connections" and bugs.on("Z34")
        if setting is not None and (stuck or not setting.dynamic) and not bugs.on("T09"):
            return WrongSetting(errors.INVALID_REQUEST, f"Cannot update these configs dynamically: [{key}]")
        fault = _value_fault(setting, value, f"Unknown broker config name: {key}")
        unbound = key in UNBOUND_ONCE and bugs.on("K40")
        return None if fault and unbound and _NUMBER.fullmatch(value) else fault

    def misfit(self, configs: dict[str, str]) -> WrongSetting | None:
        return None

    def replace(self, configs: dict[str, str]) -> None:
        self._node.configure_broker(self._name, configs)


class GroupResource:
    """A group's settings over the broker's; a group need not exist to have some."""

    settings = GROUP_SETTINGS

    def __init__(self, node: Broker, group_id: str) -> None:
        self._node, self._group_id = node, group_id

    def own(self) -> dict[str, str]:
        return dict(self._node.image.group_configs.get(self._group_id, {}))

    def sources(self, setting: Setting) -> list[SettingSource]:
        own = self.own()
        found = [SettingSource(setting.name, own[setting.name], DYNAMIC_GROUP)] if setting.name in own else []
        if bugs.on("K46"):
            there = broker_sources(self._node.config, BROKER_SETTINGS[setting.synonym])[0]
            return found or [SettingSource(setting.name, there.value, DEFAULT)]
        return found + broker_sources(self._node.config, BROKER_SETTINGS[setting.synonym])

    def fault(self, key: str, value: str) -> WrongSetting | None:
        if fault := _value_fault(GROUP_SETTINGS.get(key), value, f"Unknown group config name: {key}"):
            return fault
        low, high = BOUNDS[key]
        if int(value) < self._node.config[low] + bool(bugs.on("D11")):
            return WrongSetting(errors.INVALID_CONFIG, f"{key} must be greater than or equal to {low}")
        if int(value) > self._node.config[high]:
            return WrongSetting(errors.INVALID_CONFIG, f"{key} must be less than or equal to {high}")
        return None

    def misfit(self, configs: dict[str, str]) -> WrongSetting | None:
        session, interval = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
        session_ms, interval_ms = (
            int(configs.get(name) or self._node.config.text(f"group.{name}")) for name in (session, interval)
        )
        inherits = configs.keys() < {session, interval}
        if session_ms <= interval_ms and not (inherits and bugs.on("Z14")):
            return WrongSetting(errors.INVALID_CONFIG, f"{session} must be greater than {interval}")
        return None

    def replace(self, configs: dict[str, str]) -> None:
        self._node.configure_group(self._group_id, configs)


class ClientMetricsResource:
    """A subscription to metrics of clients, which is there as long as it has settings."""

    settings = client_metrics.CLIENT_METRICS_SETTINGS

    def __init__(self, node: Broker, name: str) -> None:
        self._node, self._name = node, name

    def own(self) -> dict[str, str]:
        return dict(self._node.image.client_metrics.get(self._name, {}))

    def sources(self, setting: Setting) -> list[SettingSource]:
        own = self.own()
        found = [SettingSource(setting.name, own[setting.name], DYNAMIC_CLIENT_METRICS)] if setting.name in own else []
        return [*found, SettingSource(setting.name, setting.default, DEFAULT)]

    def fault(self, key: str, value: str) -> WrongSetting | None:
        wrong = client_metrics.fault(key, value)
        return wrong._replace(error=errors.UNKNOWN_SERVER_ERROR) if wrong and bugs.on("V69") else wrong

    def misfit(self, configs: dict[str, str]) -> WrongSetting | None:
        return None

    def replace(self, configs: dict[str, str]) -> None:
        self._node.configure_client_metrics(self._name, configs)


def broker_sources(config: BrokerConfig, setting: Setting, own: dict[str, str] | None = None) -> list[SettingSource]:
    """Altered for this broker, altered for all, given at the start, default: whichever there are, in this order."""
    found = []
    for altered, source in (
        (config.dynamic if own is None else own, DYNAMIC_BROKER),
        (config.of_all, DYNAMIC_DEFAULT_BROKER),
    ):
        if setting.name in altered:
            found.append(SettingSource(setting.name, altered[setting.name], source))
    if setting.name in config.settings:
        found.append(SettingSource(setting.name, config.settings[setting.name], STATIC_BROKER))
    return [*found, SettingSource(setting.name, setting.default, DEFAULT)]


def _value_fault(setting: Setting | None, value: str, unknown: str) -> WrongSetting | None:
    if setting is None:
        return WrongSetting(errors.INVALID_CONFIG, unknown)
    try:
        setting.parse(value)
    except InvalidSetting as error:
        return WrongSetting(errors.INVALID_CONFIG, str(error))
    return None


def _is_another_broker(node: Broker, name: str) -> bool:
    """The controller alters the settings of every broker."""
    knows = node.config.controller_only or bugs.on("B273")
    return knows and name.isdecimal() and int(name) in node.image.brokers


def unborn(node: Broker, name: str) -> Resource:
    """A topic that does not exist, to judge settings by: Kafka looks at them before it looks for the topic."""
    return TopicResource(node, TopicImage(name, ZERO_UUID, []))


def find(node: Broker, kind: int, name: str) -> Resource | WrongSetting:
    """The resource that a request names."""
    if kind == TOPIC:
        if name == "":
            return WrongSetting(errors.INVALID_REQUEST, "Default topic resources are not allowed.")
        if fault := name_fault(name):
            return fault
        topic = node.topics.get(name)
        if topic is None:
            return WrongSetting(errors.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
        return TopicResource(node, topic)
    if kind == BROKER:
        if name not in ("", str(node.node_id)) and not _is_another_broker(node, name):
            return WrongSetting(
                errors.INVALID_REQUEST,
                f"Unexpected broker id, expected {node.node_id} or empty string, but received {name}",
            )
        return BrokerResource(node, name)
    if kind == GROUP:
        if name == "":
            return WrongSetting(errors.INVALID_REQUEST, "Default group resources are not allowed.")
        return GroupResource(node, name)
    if bugs.on("H28"):
        return GroupResource(node, name)
    if kind == CLIENT_METRICS:
        if name == "":
            return WrongSetting(errors.INVALID_REQUEST, "Subscription name can't be empty")
        return ClientMetricsResource(node, name)
    return WrongSetting(errors.INVALID_REQUEST, f"Unsupported resource type: {kind}")
