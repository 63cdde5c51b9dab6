"""The cluster: described, asked what it offers."""

from __future__ import annotations

from brokertrial.suites.explore.families import rule
from brokertrial.suites.explore.model import Model
from brokertrial.suites.explore.step import RequestStep


@rule("DescribeCluster", 0.7)
def cluster(model: Model) -> RequestStep | None:
    fields = {"endpoint_type": model.pick([1, 1, 1, 2, 3])}
    return RequestStep("DescribeCluster", model.version("DescribeCluster"), fields, model.connection())


@rule("ListConfigResources", 0.3)
def config_resources(model: Model) -> RequestStep | None:
    fields = {"resource_types": model.pick([[4], [4, 99], [8]])}
    return RequestStep("ListConfigResources", model.version("ListConfigResources"), fields, model.connection())


@rule("ApiVersions", 0.7)
def versions(model: Model) -> RequestStep | None:
    name = model.pick(["brokertrial", "brokertrial", "-bad", "bad name", ""])
    return RequestStep(
        "ApiVersions",
        model.version("ApiVersions", 0, 4),
        {"client_software_name": name, "client_software_version": "1.0"},
        model.connection(),
    )
