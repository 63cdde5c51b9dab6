"""What explorations found the bundled broker to answer otherwise than Apache Kafka, and that it now answers alike."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from brokertrial.suites.targets import open_target
from brokertrial.wire import errors
from brokertrial.wire.client import Connection
from brokertrial.wire.messages import Struct, request

KEPT_SETTING = {"name": "retention.bytes", "config_operation": 0, "value": "-2"}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    work: Path = tmp_path_factory.mktemp("broker")
    with open_target("reference", work) as target:
        host, port = target.bootstrap.rsplit(":", 1)
        with Connection(host, int(port)) as connection:
            topics = [{"name": "t", "num_partitions": 1, "replication_factor": 1}]
            connection.call(request("CreateTopics", topics=topics, timeout_ms=10_000), 7)
            yield connection


def moved(broker: Connection, replicas: list[int]) -> int:
    topics = [{"name": "t", "partitions": [{"partition_index": 0, "replicas": replicas}]}]
    answer = broker.call(request("AlterPartitionReassignments", topics=topics, timeout_ms=10_000), 1)
    return int(answer.responses[0].partitions[0].error_code)


def test_a_partition_may_be_moved_to_where_it_is(broker: Connection) -> None:
    assert moved(broker, [1]) == errors.NONE
    assert moved(broker, [7]) == errors.INVALID_REPLICA_ASSIGNMENT


def described(broker: Connection, names: list[str], cursor: str) -> Struct:
    fields = {"topics": [{"name": name} for name in names], "response_partition_limit": 10}
    asked = request("DescribeTopicPartitions", **fields, cursor={"topic_name": cursor, "partition_index": 0})
    return broker.call(asked, 0)


def test_a_cursor_names_a_topic_that_is_asked_for(broker: Connection) -> None:
    assert [each.error_code for each in described(broker, ["t"], "u").topics] == [errors.INVALID_REQUEST]
    assert [each.error_code for each in described(broker, ["t"], "a").topics] == [errors.INVALID_REQUEST]
    assert [each.error_code for each in described(broker, ["t"], "t").topics] == [errors.NONE]
    unnamed = described(broker, [], "s").topics
    assert [(each.name, each.error_code) for each in unnamed[:2]] == [
        ("s", errors.UNKNOWN_TOPIC_OR_PARTITION),
        ("t", errors.NONE),
    ]


def test_any_size_below_zero_is_no_limit(broker: Connection) -> None:
    resources = [{"resource_type": 2, "resource_name": "t", "configs": [KEPT_SETTING]}]
    answer = broker.call(request("IncrementalAlterConfigs", resources=resources), 1)
    assert answer.responses[0].error_code == errors.NONE
