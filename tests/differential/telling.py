"""An answer in words that do not differ from broker to broker: ids as symbols, lists in order, batches by header."""

from __future__ import annotations

import json
from typing import Any

from brokertrial.wire.messages import ZERO_UUID, Struct
from brokertrial.wire.records import batches
from tests.differential.step import MEMBER, PRODUCER, SESSION, TOPIC, Symbol

#: Prose, addresses, sizes of disks and what else says nothing about behaviour.
DROPPED = frozenset(
    {
        "throttle_time_ms",
        "error_message",
        "batch_index_error_message",
        "documentation",
        "synonyms",
        "host",
        "port",
        "rack",
        "client_host",
        "node_endpoints",
        "current_leader",
        "brokers",
        "cluster_id",
        "log_dir",
        "total_bytes",
        "usable_bytes",
        "is_cordoned",
        "zk_migration_ready",
        "api_keys",
        "supported_features",
        "finalized_features",
        "finalized_features_epoch",
    }
)
KINDS = {"producer_id": PRODUCER, "topic_id": TOPIC, "member_id": MEMBER, "session_id": SESSION}
#: Times that a broker took from its own clock: only whether there is one.
CLOCKS = frozenset(
    {"log_append_time_ms", "transaction_start_time_ms", "last_timestamp", "timestamp", "heartbeat_interval_ms"}
)
#: A setting of the topic itself; where a default comes from is each broker's own affair.
OWN_SETTING = 1
#: What a KIP-848 group makes of its members comes in each broker's own time; the sum is told where it is settled.
IN_ITS_OWN_TIME = frozenset({"assignment", "target_assignment"})
CONSUMER_EPOCHS = frozenset({"member_epoch", "group_epoch", "assignment_epoch"})
CONSUMER_APIS = frozenset({"ConsumerGroupHeartbeat", "ConsumerGroupDescribe"})
MASKED = frozenset({*KINDS, *CLOCKS, *CONSUMER_EPOCHS, "config_source"})
NODES = frozenset({"node_id", "leader_id", "controller_id", "broker_id"})


class Names:
    """The ids of one broker in the order in which they were first told."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Any], Symbol] = {}
        self._actual: dict[Symbol, Any] = {}
        self._count: dict[str, int] = {}

    def of(self, kind: str, actual: Any) -> Symbol:
        if (kind, actual) not in self._known:
            self._count[kind] = self._count.get(kind, 0) + 1
            symbol = Symbol(kind, self._count[kind])
            self._known[kind, actual], self._actual[symbol] = symbol, actual
        return self._known[kind, actual]

    def known(self, kind: str, actual: Any) -> bool:
        return (kind, actual) in self._known

    def actual(self, symbol: Symbol) -> Any:
        return self._actual[symbol]


def told(answer: Struct, version: int, names: Names, ours: str) -> dict[str, Any]:
    """The answer as plain data; `ours` is in every name that the sequence made, and lists of others are left out."""
    return _named(_plain(answer, version, ours), names, answer._api)


def codes(value: Any) -> list[int]:
    """Every error code in what was told, in order."""
    if isinstance(value, dict):
        found = []
        for key, inner in value.items():
            found += [inner] if key.endswith("error_code") and isinstance(inner, int) else codes(inner)
        return found
    return [code for inner in value for code in codes(inner)] if isinstance(value, list) else []


def _plain(struct: Struct, version: int, ours: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in struct._fields:
        if version not in field.versions or field.name in DROPPED:
            continue
        if struct._api in CONSUMER_APIS and field.name in IN_ITS_OWN_TIME:
            continue
        value = getattr(struct, field.name)
        if field.name == "records":
            found["records"] = None if value is None else [_batch(each) for each in batches(value)]
        elif isinstance(value, Struct):
            found[field.name] = _plain(value, version, ours)
        elif isinstance(value, (list, tuple)):
            plain = [_plain(each, version, ours) if isinstance(each, Struct) else each for each in value]
            plain = [each for each in plain if not _foreign(struct._api, field.name, each, ours)]
            found[field.name] = sorted(plain, key=_place)
        else:
            found[field.name] = bytes(value).hex() if isinstance(value, (bytes, memoryview)) else value
    if struct._api == "ConsumerGroupDescribe" and "group_epoch" in found:
        owned = [topic for member in struct.members for topic in member.assignment.topic_partitions]
        found["assigned"] = sum(len(topic.partitions) for topic in owned)
    return found


def _batch(batch: Any) -> dict[str, Any]:
    header = batch.header
    kind = batch.marker().kind if header.is_control else ""
    return {
        "base": header.base_offset,
        "last": header.last_offset,
        "count": header.record_count,
        "producer_id": header.producer_id,
        "epoch": header.producer_epoch,
        "sequence": header.base_sequence,
        "transactional": header.is_transactional,
        "control": kind,
    }


def _foreign(api: str, name: str, value: Any, ours: str) -> bool:
    """Whether an entry of a list of everything belongs to somebody else."""
    listed = {"ListGroups": "groups", "ListTransactions": "transaction_states"}
    if api == "ListGroups" and name == "groups" and not value["protocol_type"]:
        return True  # one that only a refused commit made shows when anybody writes to its partition
    if api == "CreateTopics" and name == "configs":
        return bool(value["config_source"] != OWN_SETTING)
    return listed.get(api) == name and ours not in json.dumps(value, default=str)


def _place(value: Any) -> str:
    """Sorts a list whatever ids a broker chose in it."""
    return json.dumps(_masked(value), sort_keys=True, default=str)


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        value = _internal(value)
        return {key: None if key in MASKED else _masked(inner) for key, inner in value.items()}
    return [_masked(each) for each in value] if isinstance(value, list) else value


def _named(value: Any, names: Names, api: str) -> Any:
    if isinstance(value, list):
        return [_named(each, names, api) for each in value]
    if not isinstance(value, dict):
        return value
    refused = bool(value.get("error_code"))  # then the id is no producer's, even where it is one's by chance
    return {
        key: inner if refused and key == "producer_id" else _field(key, inner, names, api)
        for key, inner in _internal(value).items()
    }


def _internal(value: dict[str, Any]) -> dict[str, Any]:
    """Which partition of an internal topic a key falls into depends on how many it has: a setting."""
    return value | {"partitions": "those of its keys"} if str(value.get("topic", "")).startswith("__") else value


def _field(key: str, value: Any, names: Names, api: str) -> Any:
    if key in KINDS:
        if value == ZERO_UUID or (key == "session_id" and value == 0):
            return ""
        return value if value in (None, "", -1) else names.of(KINDS[key], value)
    if key == "leader" and api == "JoinGroup":
        return names.of(MEMBER, value) if value else value
    if key in CLOCKS:
        return "a time" if value > 0 else value
    if isinstance(value, list) and value and isinstance(value[0], dict) and KINDS.keys() & value[0].keys():
        return sorted(_named(value, names, api), key=lambda entry: json.dumps(entry, sort_keys=True, default=str))
    if key in CONSUMER_EPOCHS and api in CONSUMER_APIS:
        return "an epoch" if value > 0 else value
    if key == "config_source":
        return value if value == OWN_SETTING else "a default"
    if key == "coordinator_epoch":
        return "an epoch" if value >= 0 else value
    if key in NODES:
        return "a node" if value >= 0 else value
    if key in ("replica_nodes", "isr_nodes", "offline_replicas"):
        return len(value)
    return _named(value, names, api)
