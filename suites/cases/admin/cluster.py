"""DescribeCluster and Metadata are two views of one cluster (KIP-700)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.wire.messages import request

NOT_ASKED = -0x80000000


@case(
    "admin/one-cluster",
    guarantee="adm-012",
    apis={"DescribeCluster": 0, "Metadata": 2},
    detects=[edit_answer("cluster_id", set="another", api="DescribeCluster")],
)
def describe_cluster_agrees_with_metadata(wire):
    """DescribeCluster MUST name the cluster id and the brokers that Metadata names, whichever broker is asked.

    The controller may be any broker that takes a controller's requests, and another in each answer.
    """
    for node in wire.nodes:
        seen, described = wire.metadata(to=node), wire.describe_cluster(to=node).must_succeed()
        described.must_have("cluster_id", seen.struct.cluster_id)
        views = [sorted((row[0], row[1], row[2]) for row in places(answer)) for answer in (seen, described)]
        described.must(views[0] == views[1], f"the brokers are {views[1]}; Metadata names {views[0]}", "brokers")
        ids = [row[0] for row in views[1]]
        described.must(
            described.struct.controller_id in ids, f"the controller {described.struct.controller_id} is no broker"
        )


@case(
    "admin/cluster-operations",
    guarantee="adm-012",
    apis={"DescribeCluster": 0},
    detects=[edit_answer("cluster_authorized_operations", set=NOT_ASKED, api="DescribeCluster", skip=1)],
)
def authorized_operations_are_returned_when_asked_for(wire):
    """DescribeCluster MUST return the authorized operations when they are asked for, and only then."""
    wire.describe_cluster().must_succeed().must_have("cluster_authorized_operations", NOT_ASKED)
    answer = wire.ask(request("DescribeCluster", include_cluster_authorized_operations=True)).must_succeed()
    answer.must(
        answer.struct.cluster_authorized_operations != NOT_ASKED,
        "the operations were asked for, and are not returned",
        "cluster_authorized_operations",
    )


def places(answer):
    names = (
        ("broker_id", "host", "port") if hasattr(answer.struct.brokers[0], "broker_id") else ("node_id", "host", "port")
    )
    return [[getattr(row, name) for name in names] for row in answer.struct.brokers]
