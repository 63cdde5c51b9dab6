"""An answer in words that do not differ from broker to broker: ids as symbols, lists in order, batches by content.

Which fields are compared otherwise than by value, and why, is in normalise.toml.
"""

from __future__ import annotations

import json
import tomllib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from brokertrial.suites.explore.step import Symbol
from brokertrial.wire.messages import ZERO_UUID, Struct
from brokertrial.wire.records import Batch, RecordsMalformed, batches

TABLE = Path(__file__).with_name("normalise.toml")
#: A setting of the topic itself.
OWN_SETTING = 1
BATCH_TIME = "append"
#: Lists that hold what belongs to others too, by API.
OF_ALL = {
    "ListGroups": "groups", "ListTransactions": "transaction_states",
    "DescribeClientQuotas": "entries", "DescribeUserScramCredentials": "results",
    "ElectLeaders": "replica_election_results",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FieldRule:
    """How a field is compared, and why not by its value."""

    fields: tuple[str, ...]
    how: str
    reason: str
    kind: str = ""
    apis: tuple[str, ...] = ()


class UnknownId(Exception):
    """A request needs an id that this broker never gave."""


class Names:
    """The ids of one broker in the order in which they were first given."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Any], Symbol] = {}
        self._actual: dict[Symbol, Any] = {}
        self._count: dict[str, int] = {}

    def of(self, kind: str, actual: Any) -> Symbol:
        """The symbol of an id, a new one where it was never seen."""
        if (kind, actual) not in self._known:
            self._count[kind] = self._count.get(kind, 0) + 1
            symbol = Symbol(kind, self._count[kind])
            self._known[kind, actual], self._actual[symbol] = symbol, actual
        return self._known[kind, actual]

    def all(self) -> dict[Symbol, Any]:
        """Every id by its symbol."""
        return dict(self._actual)

    def actual(self, symbol: Symbol) -> Any:
        """What this broker calls it; raises UnknownId where it never named any."""
        if symbol not in self._actual:
            raise UnknownId(str(symbol))
        return self._actual[symbol]


@cache
def table() -> tuple[FieldRule, ...]:
    """The rules, as normalise.toml has them."""
    entries = tomllib.loads(TABLE.read_text("utf-8"))["rule"]
    return tuple(
        FieldRule(tuple(each["fields"]), each["how"], each["reason"], each.get("kind", ""), tuple(each.get("apis", ())))
        for each in entries
    )


@cache
def _rules(api: str) -> Mapping[str, FieldRule]:
    """Those of one API, by field; one that names the API goes before one that names none."""
    general = {name: rule for rule in table() if not rule.apis for name in rule.fields}
    own = {name: rule for rule in table() if api in rule.apis for name in rule.fields}
    return general | own


def normalised(answer: Struct, version: int, names: Names, prefix: str) -> dict[str, Any]:
    """The answer as plain data; lists of everybody's things keep those that have `prefix` in their names."""
    found = _plain(answer, version, prefix)
    return dict(_named(found, names, answer._api))


def codes(value: Any) -> list[int]:
    """Every error code in an answer, in order."""
    if isinstance(value, dict):
        found = []
        for key, inner in value.items():
            found += [inner] if key.endswith("error_code") and isinstance(inner, int) else codes(inner)
        return found
    return [code for inner in value for code in codes(inner)] if isinstance(value, list) else []


def _plain(struct: Struct, version: int, prefix: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    rules = _rules(struct._api)
    for field in struct._fields:
        if version not in field.versions or ((rule := rules.get(field.name)) and rule.how == "drop"):
            continue
        value = getattr(struct, field.name)
        if field.name == "records":
            found["records"] = None if value is None else _batches(value)
        elif isinstance(value, Struct):
            found[field.name] = _plain(value, version, prefix)
        elif isinstance(value, (list, tuple)):
            plain = [_plain(each, version, prefix) if isinstance(each, Struct) else each for each in value]
            plain = [each for each in plain if not _foreign(struct._api, field.name, each, prefix)]
            found[field.name] = sorted(plain, key=lambda each: _place(each, rules))
        else:
            found[field.name] = bytes(value).hex() if isinstance(value, (bytes, memoryview)) else value
    if struct._api == "ConsumerGroupDescribe" and "group_epoch" in found:
        owned = [topic for member in struct.members for topic in member.assignment.topic_partitions]
        found["assigned"] = sum(len(topic.partitions) for topic in owned)
    return found


def _batches(records: Any) -> Any:
    try:
        return [_batch(each) for each in batches(records)]
    except RecordsMalformed as wrong:
        return f"malformed: {wrong}"


def _batch(batch: Batch) -> dict[str, Any]:
    header = batch.header
    own_time = header.timestamp_type == BATCH_TIME
    found: dict[str, Any] = {
        "base": header.base_offset,
        "last": header.last_offset,
        "count": header.record_count,
        "producer_id": header.producer_id,
        "epoch": header.producer_epoch,
        "sequence": header.base_sequence,
        "transactional": header.is_transactional,
        "control": batch.marker().kind if header.is_control else "",
        "crc": batch.crc_ok(),
        "magic": header.magic,
        "compression": header.compression,
        "timestamps": header.timestamp_type,
    }
    if not header.is_control:
        found["content"] = [
            [
                each.offset,
                "a time" if own_time else each.timestamp,
                *(None if part is None else f"{len(part)}:{zlib.crc32(part):x}" for part in (each.key, each.value)),
                [[str(key), None if value is None else bytes(value).hex()] for key, value in each.headers],
            ]
            for each in batch.records()
        ]
    return found


def _foreign(api: str, name: str, value: Any, prefix: str) -> bool:
    """Whether an entry of a list of everything belongs to somebody else."""
    if api == "ListGroups" and name == "groups" and not value["protocol_type"]:
        return True  # one that only a refused commit made shows when anybody writes to its partition
    if api == "CreateTopics" and name == "configs":
        return bool(value["config_source"] != OWN_SETTING)
    return OF_ALL.get(api) == name and prefix not in json.dumps(value, default=str)


def _place(value: Any, rules: Mapping[str, FieldRule]) -> str:
    """Sorts a list whatever ids a broker chose in it."""
    return json.dumps(_masked(value, rules), sort_keys=True, default=str)


def _masked(value: Any, rules: Mapping[str, FieldRule]) -> Any:
    if isinstance(value, dict):
        value = _internal(value)
        return {key: None if key in rules else _masked(inner, rules) for key, inner in value.items()}
    return [_masked(each, rules) for each in value] if isinstance(value, list) else value


def _internal(value: dict[str, Any]) -> dict[str, Any]:
    """Which partition of an internal topic a key falls into depends on how many it has: a setting."""
    return value | {"partitions": "those of its keys"} if str(value.get("topic", "")).startswith("__") else value


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


def _field(key: str, value: Any, names: Names, api: str) -> Any:
    if (rule := _rules(api).get(key)) is not None:
        return _ruled(rule, key, value, names)
    if isinstance(value, list) and value and isinstance(value[0], dict) and _has_id(value[0], api):
        return sorted(_named(value, names, api), key=lambda entry: json.dumps(entry, sort_keys=True, default=str))
    return _named(value, names, api)


def _has_id(entry: dict[str, Any], api: str) -> bool:
    rules = _rules(api)
    return any(key in rules and rules[key].how == "id" for key in entry)


def _ruled(rule: FieldRule, key: str, value: Any, names: Names) -> Any:
    match rule.how:
        case "id":
            if value == ZERO_UUID or (key == "session_id" and value == 0):
                return ""
            return value if value in (None, "", -1) else names.of(rule.kind, value)
        case "time":
            return "a time" if value > 0 else value
        case "node":
            return "a node" if value >= 0 else value
        case "epoch":
            return "an epoch" if value > 0 or (key == "coordinator_epoch" and value == 0) else value
        case "count":
            return len(value)
        case "unset":
            return value if value == OWN_SETTING else "a default"
    return value
