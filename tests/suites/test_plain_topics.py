"""A cluster whose topics are not as Kafka's by default: the cases' topics are made so, where it lets us."""

from __future__ import annotations

from uuid import UUID

import pytest

from brokertrial.suites.probe.cluster_settings import ClusterSettings
from brokertrial.suites.probe.default_topics import (
    DefaultTopicsProbe,
    read_cluster_settings,
    settings_for_default_topics,
)
from brokertrial.suites.probe.failures import StatementFalse
from brokertrial.wire.messages import response
from tests.suites.scripted import SCENE, ScriptedExchanger

OF_ITS_OWN = {"message.timestamp.type": "LogAppendTime", "compression.type": "zstd", "flush.ms": "1"}


class Cluster:
    """One node that makes every topic; `obeys` the settings that come with it, or keeps to its own."""

    def __init__(self, defaults: dict[str, str], *, obeys: bool = True) -> None:
        self.defaults = defaults
        self.obeys = obeys
        self.topics: dict[str, dict[str, str]] = {}
        self.asked: list[dict[str, str]] = []
        self.fenced = 0
        """How many CreateTopics find no broker for a replica."""
        self.why = "Unable to replicate the partition 1 time(s): All brokers are currently fenced."
        self.silent = 0
        """How many DescribeConfigs it leaves without an answer."""

    def create(self, asked):
        if self.fenced:
            self.fenced -= 1
            refused = {"error_code": 38, "error_message": self.why}
            return response("CreateTopics", topics=[{"name": topic.name, **refused} for topic in asked.topics])
        for topic in asked.topics:
            given = {row.name: row.value for row in topic.configs}
            self.asked.append(given)
            self.topics[topic.name] = self.defaults | (given if self.obeys else {})
        return response("CreateTopics", topics=[{"name": topic.name} for topic in asked.topics])

    def metadata(self, asked):
        partition = {"partition_index": 0, "leader_id": 1, "replica_nodes": [1], "isr_nodes": [1]}
        return response(
            "Metadata",
            brokers=[{"node_id": 1, "host": "h", "port": 9}],
            controller_id=1,
            topics=[
                {"name": row.name, "topic_id": UUID(int=7), "partitions": [partition]} for row in asked.topics or []
            ],
        )

    def describe(self, asked):
        if self.silent:
            self.silent -= 1
            return None
        (resource,) = asked.resources
        settings = self.topics.get(resource.resource_name, {"transaction.max.timeout.ms": "20000"})
        rows = [{"name": name, "value": value} for name, value in settings.items()]
        told = {
            "resource_type": resource.resource_type,
            "resource_name": resource.resource_name,
            "configs": rows,
        }
        return response("DescribeConfigs", results=[told])

    def ends(self, asked):
        partition = {"partition_index": 0, "offset": 0, "timestamp": -1}
        return response("ListOffsets", topics=[{"name": asked.topics[0].name, "partitions": [partition]}])

    def probe(self) -> DefaultTopicsProbe:
        exchanger = ScriptedExchanger(
            CreateTopics=self.create, Metadata=self.metadata, DescribeConfigs=self.describe, ListOffsets=self.ends
        )
        return DefaultTopicsProbe(exchanger, SCENE, [("h", 9)])


def test_where_topics_are_as_kafkas_nothing_is_told() -> None:
    cluster = Cluster({"message.timestamp.type": "CreateTime", "compression.type": "producer", "flush.ms": "1"})
    assert settings_for_default_topics(cluster.probe()) == {}
    assert cluster.asked == [{}], "one topic as it comes, and no other"


def test_what_differs_and_matters_is_told_with_each_topic() -> None:
    cluster = Cluster(OF_ITS_OWN)
    wire = cluster.probe()
    plain = settings_for_default_topics(wire)
    assert plain == {"message.timestamp.type": "CreateTime", "compression.type": "producer"}

    wire.set_up = ClusterSettings(plain)
    wire.new_topic("t")
    wire.new_topic("t", configs={"compression.type": "gzip"})
    assert cluster.asked[-2:] == [plain, plain | {"compression.type": "gzip"}], "what a case chooses goes before"


def test_a_cluster_that_does_not_obey_is_told_nothing() -> None:
    assert settings_for_default_topics(Cluster(OF_ITS_OWN, obeys=False).probe()) == {}


@pytest.mark.parametrize("silent", [0, 2])
def test_a_busy_cluster_is_asked_again(silent: int) -> None:
    cluster = Cluster(OF_ITS_OWN)
    cluster.silent = silent
    read = read_cluster_settings(cluster.probe)
    assert read.topic_settings["message.timestamp.type"] == "CreateTime"
    assert read.longest_transaction_ms == 20_000


def test_what_a_cluster_never_says_is_left_out() -> None:
    cluster = Cluster(OF_ITS_OWN)
    cluster.silent = 100
    assert read_cluster_settings(cluster.probe) == ClusterSettings()


def test_a_topic_is_asked_for_again_while_its_broker_is_fenced() -> None:
    cluster = Cluster({})
    cluster.fenced = 3
    assert cluster.probe().new_topic("t") in cluster.topics
    cluster.fenced = 3
    assert cluster.probe().create_topic("u").error == 0
    cluster.fenced, cluster.why = 3, "Replication factor: 1 larger than available brokers: 0."
    assert cluster.probe().create_topic("v").error == 0


def test_what_is_refused_for_another_reason_is_asked_for_once() -> None:
    cluster = Cluster({})
    cluster.fenced, cluster.why = 2, "Replication factor must be larger than 0."
    assert cluster.probe().create_topic("u").error == 38
    assert cluster.fenced == 1


def test_who_never_makes_it_is_at_fault() -> None:
    cluster = Cluster({})
    cluster.fenced = 1_000
    with pytest.raises(StatementFalse):
        cluster.probe().new_topic("t")
