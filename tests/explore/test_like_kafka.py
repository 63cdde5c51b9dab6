"""What explorations found the bundled broker to answer otherwise than Apache Kafka, and that it now answers alike."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from brokertrial.suites.targets import open_target
from brokertrial.wire import errors
from brokertrial.wire.client import Connection, ResponseTimeout
from brokertrial.wire.messages import Struct, request
from brokertrial.wire.records import Record, build_batch

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
    assert moved(broker, [0]) == errors.NONE
    assert moved(broker, [7]) == errors.INVALID_REPLICA_ASSIGNMENT


def test_brokers_that_cannot_hold_a_partition_are_refused_before_their_number(broker: Connection) -> None:
    for replicas, expected in (([0, 7], 39), ([], 39), ([0, 0], 39), ([0], 0), (None, 85)):
        topics = [{"name": "t", "partitions": [{"partition_index": 0, "replicas": replicas}]}]
        asked = request(
            "AlterPartitionReassignments", topics=topics, timeout_ms=10_000, allow_replication_factor_change=False
        )
        answer = broker.call(asked, 1)
        assert answer.responses[0].partitions[0].error_code == expected
        assert not answer.allow_replication_factor_change
    nothing = request("AlterPartitionReassignments", timeout_ms=10_000, allow_replication_factor_change=False)
    assert broker.call(nothing, 1).allow_replication_factor_change


def test_an_election_of_no_type_is_refused_for_each_partition(broker: Connection) -> None:
    named = [{"topic": "t", "partitions": [0]}, {"topic": "none", "partitions": [1, 2]}]
    answers = [
        broker.call(request("ElectLeaders", election_type=5, topic_partitions=topics, timeout_ms=10_000), 2)
        for topics in (named, None, [])
    ]
    codes = [
        [p.error_code for topic in each.replica_election_results for p in topic.partition_result] for each in answers
    ]
    assert [each.error_code for each in answers] == [errors.INVALID_REQUEST, errors.INVALID_REQUEST, errors.NONE]
    assert codes == [[errors.INVALID_REQUEST] * 3, [], []]


def described(broker: Connection, names: list[str], cursor: str, partition: int = 0) -> Struct:
    fields = {"topics": [{"name": name} for name in names], "response_partition_limit": 10}
    asked = request("DescribeTopicPartitions", **fields, cursor={"topic_name": cursor, "partition_index": partition})
    return broker.call(asked, 0)


def test_a_cursor_names_a_topic_that_is_asked_for(broker: Connection) -> None:
    assert [each.error_code for each in described(broker, ["t"], "u").topics] == [errors.INVALID_REQUEST]
    assert [each.error_code for each in described(broker, ["t"], "a").topics] == [errors.INVALID_REQUEST]
    assert [each.error_code for each in described(broker, ["t"], "t").topics] == [errors.NONE]
    unnamed = described(broker, [], "s").topics
    assert [(each.name, each.error_code) for each in unnamed[:1]] == [("t", errors.NONE)]
    assert not described(broker, [], "s", partition=-1).topics


def test_any_size_below_zero_is_no_limit(broker: Connection) -> None:
    resources = [{"resource_type": 2, "resource_name": "t", "configs": [KEPT_SETTING]}]
    answer = broker.call(request("IncrementalAlterConfigs", resources=resources), 1)
    assert answer.responses[0].error_code == errors.NONE


def test_of_a_partition_that_is_named_twice_the_last_batch_counts(broker: Connection) -> None:
    batches = [memoryview(build_batch([Record(key=None, value=b"v")] * count)) for count in (1, 2)]
    twice = [{"index": 0, "records": batch} for batch in batches]
    topics = [{"name": "t", "partition_data": twice}, {"name": "u", "partition_data": []}]
    asked = request("Produce", acks=-1, timeout_ms=10_000, transactional_id=None, topic_data=topics)
    (topic,) = broker.call(asked, 9).responses  # a topic of which no partition is named is passed over
    assert [(each.index, each.error_code) for each in topic.partition_responses] == [(0, errors.NONE)]
    ends = [{"name": "t", "partitions": [{"partition_index": 0, "timestamp": -1}]}]
    assert broker.call(request("ListOffsets", replica_id=-1, topics=ends), 5).topics[0].partitions[0].offset == 2


def test_a_fetch_that_waits_is_answered_when_its_topic_is_deleted(broker: Connection) -> None:
    made = [{"name": "short-lived", "num_partitions": 1, "replication_factor": 1}]
    topic_id = broker.call(request("CreateTopics", topics=made, timeout_ms=10_000), 7).topics[0].topic_id
    place = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1_000}
    topics = [{"topic_id": topic_id, "partitions": [place]}]
    with Connection(broker.host, broker.port) as waiting:
        waiting.send(request("Fetch", max_wait_ms=60_000, min_bytes=1, max_bytes=1_000, topics=topics), 13)
        with pytest.raises(ResponseTimeout):
            waiting.receive(0.5)
        broker.call(request("DeleteTopics", topics=[{"name": "short-lived"}], timeout_ms=10_000), 6)
        (partition,) = waiting.receive(20.0).struct.responses[0].partitions
    assert partition.error_code == errors.UNKNOWN_TOPIC_OR_PARTITION
