"""Every (API, direction, version) that kio or kafka-python has: our bytes mean the same to them, and back."""

import datetime
import io
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.protocol import admin, consumer, metadata, producer, sasl
from kafka.protocol.api_message import ApiMessage
from kio.index import load_entity_schema
from kio.schema.index import schema_name_map
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from brokertrial.wire import apis, errors
from brokertrial.wire.codec import decode, encode
from brokertrial.wire.schema_text import Field, snake_case
from brokertrial.wire.structs import ZERO_UUID, Struct
from tests.support.examples import example, plain

kio_reader, kio_writer = cache(entity_reader), cache(entity_writer)
DIRECTIONS = ("request", "response")
KNOWN_CODES = tuple(code for code in errors.CODES.values() if code <= 131)
MESSAGES = [(api.name, direction) for api in apis.ALL for direction in DIRECTIONS]
seeds = st.integers(0, 2**32 - 1)


def modest(rng: Random, field: Field) -> Any:
    """What kio can hold: known error codes, and times that Python's calendar has."""
    if field.name == "error_code" or field.name.endswith("_error_code"):
        return rng.choice(KNOWN_CODES)
    if field.kind == "int64" and ("time" in field.name or field.name.endswith("_ms")):
        return rng.choice((0, 1, 1_700_000_000_123))
    return plain(rng, field)


def kio_versions(name: str, direction: str) -> list[int]:
    kind = EntityType[direction]
    return [version for version, kinds in schema_name_map.get(snake_case(name), {}).items() if kind in kinds]


KAFKA_PYTHON = {
    (kind.API_KEY, kind.type): kind
    for module in (admin, consumer, metadata, producer, sasl)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, ApiMessage) and kind is not ApiMessage
}


RENAMED = {"StreamsGroupHeartbeat.response v0.acceptable_recovery_lag"}  # by Kafka 4.4; kio has the older name


def as_int(value: Any) -> Any:
    """kio's richer types as what is on the wire."""
    if isinstance(value, datetime.timedelta):
        return round(value / datetime.timedelta(milliseconds=1))
    if isinstance(value, datetime.datetime):
        return round(value.timestamp() * 1000)
    return value


def same(ours: Any, theirs: Any, path: str) -> None:
    """Field by field under the same names: a swap of two fields of one type would not show in the bytes."""
    if isinstance(ours, Struct):
        for name, value in ours._items():
            if hasattr(theirs, name) and f"{path}.{name}" not in RENAMED:
                same(value, getattr(theirs, name), f"{path}.{name}")
    elif isinstance(ours, list) and theirs is not None:
        assert len(ours) == len(theirs), path
        for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            same(one, other, f"{path}[{index}]")
    elif ours == ZERO_UUID:
        assert theirs in (None, ZERO_UUID), path
    elif ours is not None:
        theirs = as_int(theirs)
        if theirs is not None and not isinstance(theirs, set):  # -1 may be no time, a bitfield may be a set
            assert ours == theirs, path


@pytest.mark.parametrize(("name", "direction"), [m for m in MESSAGES if kio_versions(*m)])
@settings(max_examples=8, deadline=None, derandomize=True, database=None)
@given(seed=seeds)
def test_kio_reads_the_same_values_and_writes_the_same_bytes(name: str, direction: str, seed: int) -> None:
    api = apis.by_name(name)
    for version in kio_versions(name, direction):
        assert api.min_version <= version <= api.max_version
        message = example(Random(seed), name, direction, version, value=modest)
        ours = encode(message, version)
        schema = load_entity_schema(snake_case(name), version, EntityType[direction])
        theirs, size = kio_reader(schema)(ours, 0)
        assert size == len(ours)
        same(decode(name, direction, version, ours), theirs, f"{name}.{direction} v{version}")
        again = io.BytesIO()
        kio_writer(schema)(again, theirs)
        assert again.getvalue() == ours, f"{name} {direction} v{version}"


@pytest.mark.parametrize(("name", "direction"), [m for m in MESSAGES if (apis.by_name(m[0]).key, m[1]) in KAFKA_PYTHON])
@settings(max_examples=8, deadline=None, derandomize=True, database=None)
@given(seed=seeds)
def test_kafka_python_reads_the_same_values_and_writes_the_same_bytes(name: str, direction: str, seed: int) -> None:
    api = apis.by_name(name)
    kind = KAFKA_PYTHON[api.key, direction]
    for version in range(api.min_version, min(api.max_version, kind.max_version) + 1):
        message = example(Random(seed), name, direction, version)
        if (name, direction) == ("ApiVersions", "response"):
            message.error_code = 0  # any other makes kafka-python read version 0
        ours = encode(message, version)
        theirs = kind.decode(ours, version=version)
        same(decode(name, direction, version, ours), theirs, f"{name}.{direction} v{version}")
        theirs._header = None  # only its constructor sets it, and decode goes around that
        assert bytes(theirs.encode(version=version)) == ours, f"{name} {direction} v{version}"


def test_both_know_enough_to_be_worth_asking() -> None:
    assert sum(len(kio_versions(*message)) for message in MESSAGES) > 500
    assert len(KAFKA_PYTHON) > 90
