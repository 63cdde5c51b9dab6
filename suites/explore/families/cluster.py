"""The cluster: described, asked what it offers, leaders elected."""

from __future__ import annotations

from brokertrial.suites.explore.families import rule
from brokertrial.suites.explore.model import Model
from brokertrial.suites.explore.step import RequestStep


@rule("DescribeCluster", 0.7)
def cluster(model: Model) -> RequestStep | None:
    fields = {"endpoint_type": model.pick([1, 1, 1, 2, 3])}
    return RequestStep("DescribeCluster", model.version("DescribeCluster"), fields, model.connection())


@rule("ElectLeaders", 0.5)
def elect(model: Model) -> RequestStep | None:
    name, partition = model.some_partition()
    fields = {"election_type": model.pick([0, 0, 1]), "topic_partitions": [{"topic": name, "partitions": [partition]}]}
    return RequestStep("ElectLeaders", model.version("ElectLeaders"), fields, model.connection())


@rule("ListConfigResources", 0.3)
def config_resources(model: Model) -> RequestStep | None:
    fields = {"resource_types": model.pick([[4], [4, 99], [8]])}
    return RequestStep("ListConfigResources", model.version("ListConfigResources"), fields, model.connection())


@rule("ListPartitionReassignments", 0.3)
def reassignments(model: Model) -> RequestStep | None:
    topics = [{"name": name, "partition_indexes": indexes} for name, indexes in model.some_partitions(0.15).items()]
    fields = {"topics": topics, "timeout_ms": 10_000}
    return RequestStep("ListPartitionReassignments", 0, fields, model.connection())


@rule("AlterPartitionReassignments", 0.3)
def reassign(model: Model) -> RequestStep | None:
    """To where a partition is already, or to where none can be."""
    replicas = model.pick([[1], None, [7], [], [1, 1], [-1]])
    topics = [
        {"name": name, "partitions": [{"partition_index": index, "replicas": replicas} for index in indexes]}
        for name, indexes in model.some_partitions(0.15).items()
    ]
    fields = {"topics": topics, "timeout_ms": 10_000}
    return RequestStep(
        "AlterPartitionReassignments", model.version("AlterPartitionReassignments"), fields, model.connection()
    )


@rule("ApiVersions", 0.7)
def versions(model: Model) -> RequestStep | None:
    name = model.pick(["brokertrial", "brokertrial", "-bad", "bad name", ""])
    return RequestStep(
        "ApiVersions",
        model.version("ApiVersions", 0, 4),
        {"client_software_name": name, "client_software_version": "1.0"},
        model.connection(),
    )
