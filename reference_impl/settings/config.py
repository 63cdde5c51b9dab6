"""What this broker was told: its command line, and settings by Kafka's names over Kafka's defaults."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.settings.broker import BROKER_SETTINGS
from brokertrial.reference_impl.settings.setting import InvalidSetting
from brokertrial.reference_impl.settings.topic import TOPIC_SETTINGS
from brokertrial.suggestion import nearest

_ADVERTISED = "advertised.listeners"
_LISTENER = re.compile(r"[A-Z_]+://(?P<host>[^:,\[\]]+):(?P<port>[0-9]{1,5})")


@dataclass(slots=True)
class BrokerConfig:
    """The command line as data. `config["some.setting"]` is the typed value in force."""

    data: Path
    port: int = 0
    host: str = "127.0.0.1"
    node_id: int = 0
    without: frozenset[str] = frozenset()
    emulate: str = "4.4"
    controller: tuple[str, int] | None = None
    """Where the controller is, for a broker of a cluster; None for a node that is its own."""
    controller_only: bool = False
    peers: tuple[str, int] | None = None
    """A listener for the other brokers; None where they use that of the clients."""
    settings: dict[str, str] = field(default_factory=dict)
    dynamic: dict[str, str] = field(default_factory=dict)  # altered while running; part of the durable metadata
    of_all: dict[str, str] = field(default_factory=dict)  # the same, for every broker that has none of its own
    advertised: tuple[str, int] | None = field(default=None, init=False)
    """Where clients are told to find this broker; None where that is its listener."""

    def __post_init__(self) -> None:
        for name, text in self.settings.items():
            if name not in BROKER_SETTINGS:
                hint = nearest(name, BROKER_SETTINGS)
                raise InvalidSetting(f"there is no broker setting {name!r}. {hint}".rstrip())
            BROKER_SETTINGS[name].parse(text)
        self.advertised = _clients_place(self.settings.get(_ADVERTISED, ""))
        roles = "controller" if self.controller_only else "broker" if self.controller else "broker,controller"
        self.settings = {"process.roles": roles, **self.settings}

    def text(self, name: str) -> str:
        """The value in force as text: altered here or for all brokers, given at the start, or the default."""
        for altered in (self.of_all, self.dynamic) if bugs.on("T08") else (self.dynamic, self.of_all):
            if name in altered:
                return altered[name]
        if (self.dynamic or self.of_all) and bugs.on("V65"):
            return BROKER_SETTINGS[name].default
        return self.settings.get(name, BROKER_SETTINGS[name].default)

    def __getitem__(self, name: str) -> Any:
        return BROKER_SETTINGS[name].parse(self.text(name))

    def given(self, name: str) -> Any:
        """The typed value that it was started with."""
        setting = BROKER_SETTINGS[name]
        return setting.parse(self.settings.get(name, setting.default))

    def topic_text(self, overrides: dict[str, str], name: str) -> str:
        """A topic setting in force: the topic's own, else the broker's, else the default."""
        if name in overrides:
            return overrides[name]
        setting = TOPIC_SETTINGS[name]
        return self.text(setting.synonym) if setting.synonym else setting.default

    def topic(self, overrides: dict[str, str], name: str) -> Any:
        """The same, typed."""
        return TOPIC_SETTINGS[name].parse(self.topic_text(overrides, name))


def _clients_place(listeners: str) -> tuple[str, int] | None:
    """Host and port of the first listener of `NAME://host:port,...`; None where there is none."""
    if not listeners:
        return None
    first = listeners.split(",")[0].strip()
    if (found := _LISTENER.fullmatch(first)) is None:
        raise InvalidSetting(f"{_ADVERTISED} must be NAME://HOST:PORT, not {first!r}.")
    return found["host"], int(found["port"])


@dataclass(slots=True)
class LogSettings:
    """The topic settings that the log itself obeys."""

    segment_bytes: int = 1 << 30
    segment_ms: int = 604_800_000
    segment_index_bytes: int = 10_485_760
    index_interval_bytes: int = 4_096
    retention_bytes: int = -1
    retention_ms: int = 604_800_000
    delete: bool = True
    compact: bool = False
    min_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = (1 << 63) - 1
    delete_retention_ms: int = 86_400_000
    flush_messages: int = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class TopicRules:
    """The settings of one topic that are looked at with every request, typed once."""

    max_message_bytes: int
    timestamp_type: str
    timestamp_before_max_ms: int
    timestamp_after_max_ms: int
    compression: str
    compacted: bool
    min_insync_replicas: int
    log: LogSettings

    @classmethod
    def possible(cls, config: BrokerConfig, overrides: dict[str, str]) -> bool:
        """Whether there can be such a topic."""
        with suppress(InvalidSetting):
            return bool(cls.of(config, overrides))
        return False

    @classmethod
    def of(cls, config: BrokerConfig, overrides: dict[str, str]) -> TopicRules:
        """Resolves a topic's overrides against the broker's settings."""

        def value(name: str) -> Any:
            return config.topic(overrides, name)

        policy, most, oldest = value("cleanup.policy"), value("retention.bytes"), value("retention.ms")
        return cls(
            max_message_bytes=value("max.message.bytes"),
            timestamp_type=value("message.timestamp.type"),
            timestamp_before_max_ms=config.given("log.message.timestamp.before.max.ms")
            if "message.timestamp.before.max.ms" not in overrides and bugs.on("B318")
            else value("message.timestamp.before.max.ms"),
            timestamp_after_max_ms=value("message.timestamp.after.max.ms"),
            compression=value("compression.type"),
            compacted="compact" in policy,
            min_insync_replicas=value("min.insync.replicas"),
            log=LogSettings(
                segment_bytes=value("segment.bytes"),
                segment_index_bytes=value("segment.index.bytes"),
                index_interval_bytes=value("index.interval.bytes"),
                segment_ms=min(value("segment.ms"), value("max.compaction.lag.ms"))
                if "compact" in policy and not bugs.on("Z11")
                else value("segment.ms"),
                retention_bytes=config["log.retention.bytes"] if most < 0 and bugs.on("B176") else most,
                retention_ms=config["log.retention.ms"] if oldest < 0 and bugs.on("B180") else oldest,
                delete="delete" in policy or (not policy and bugs.on("B214")),
                compact="compact" in policy,
                min_dirty_ratio=value("min.cleanable.dirty.ratio"),
                min_compaction_lag_ms=value("min.compaction.lag.ms"),
                max_compaction_lag_ms=value("max.compaction.lag.ms"),
                delete_retention_ms=value("delete.retention.ms"),
                flush_messages=1 if config["flush.mode"] == "always" else value("flush.messages"),
            ),
        )
