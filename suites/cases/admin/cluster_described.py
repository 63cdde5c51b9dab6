"""The cluster as DescribeCluster and Metadata describe it, in every version and way (KIP-430, KIP-700, KIP-919)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.admin.cluster import NOT_ASKED
from brokertrial.wire import errors
from brokertrial.wire.messages import request

BROKERS, CONTROLLERS, NO_KINDS = 1, 2, (0, 3, -1)
WITH_KINDS, WITH_FENCED, WITHIN_S = 1, 2, 30
OF_CLUSTERS, NO_OPERATIONS = range(8, 11), 0b111
"""Versions of Metadata that return what may be done on the cluster; bits that stand for no operation of their own."""


@case(
    "admin/cluster-in-every-version",
    guarantees=["adm-012", "prot-015"],
    apis={"DescribeCluster": 0, "Metadata": 2},
    detects=["H17", "H18"],
)
def the_cluster_is_described_the_same_in_every_way(wire, topic):
    """DescribeCluster MUST return in every version the cluster id, the brokers with their racks and the authorized
    operations of the cluster as Metadata does; so MUST every version of Metadata, and every way to ask for the
    authorized operations of a topic. A request to a broker for controllers MUST be refused (114), as must any other
    endpoint type (115).
    """
    for node in wire.nodes:
        newest = wire.metadata(topic, to=node).must_succeed().struct
        brokers = {(row.node_id, row.host, row.port, row.rack) for row in newest.brokers}
        operations, of_topic = _must_agree(wire, topic, node, newest.cluster_id, brokers)
        for version in wire.versions("DescribeCluster"):
            for asked_for in (True, False):
                answer = wire.ask(_about(include_cluster_authorized_operations=asked_for), version=version, to=node)
                answer.must_succeed().must_have("cluster_id", newest.cluster_id)
                found = {(row.broker_id, row.host, row.port, row.rack) for row in answer.struct.brokers}
                answer.must(found == brokers, f"the brokers are {found}; Metadata names {brokers}", "brokers")
                fenced = [row.broker_id for row in answer.struct.brokers if row.is_fenced]
                answer.must(not fenced, f"{fenced} are fenced, and live brokers alone were asked for", "brokers")
                known = answer.struct.controller_id in {row[0] for row in brokers}
                answer.must(known, f"the controller {answer.struct.controller_id} is no broker", "controller_id")
                may = answer.struct.cluster_authorized_operations
                operations = operations or {may} if asked_for else operations
                right = may in operations and not may & NO_OPERATIONS if asked_for else may == NOT_ASKED
                answer.must(
                    right, f"the operations are {may}; others return {operations}", "cluster_authorized_operations"
                )
                if version >= WITH_KINDS:
                    answer.must_have("endpoint_type", BROKERS)
            for kind in (CONTROLLERS, *NO_KINDS) if version >= WITH_KINDS else ():
                wrong = errors.MISMATCHED_ENDPOINT_TYPE if kind == CONTROLLERS else errors.UNSUPPORTED_ENDPOINT_TYPE
                refused = wire.ask(_about(endpoint_type=kind), version=version, to=node).must_be_refused(wrong)
                refused.must(not refused.struct.brokers, "it is refused, and returns brokers all the same", "brokers")
        if wire.versions("DescribeTopicPartitions"):
            rows = [{"name": topic}]
            page = wire.ask(request("DescribeTopicPartitions", topics=rows, response_partition_limit=1), to=node)
            may = page.must_succeed().struct.topics[0].topic_authorized_operations
            page.must(may in (of_topic or {may}), f"the operations on the topic are {may}; others return {of_topic}")


@case(
    "admin/brokers-that-are-fenced",
    guarantees=["adm-012", "kraft-005"],
    apis={"DescribeCluster": 0},
    needs=["three-nodes", "kill", "restart"],
    detects=["H24", "B338"],
)
def a_dead_broker_is_listed_where_it_is_asked_for(wire, nodes, rng):
    """DescribeCluster MUST list a dead broker only where fenced brokers are asked for, and then as fenced, with its
    address; it MUST list all live ones as not fenced. Once the dead broker is back it MUST be listed as not fenced
    again. Versions in which fenced brokers cannot be asked for, and Metadata in every version, MUST NOT list it.
    """
    everyone = {row.broker_id: (row.host, row.port) for row in wire.describe_cluster().must_succeed().struct.brokers}
    dead = rng.choice(list(wire.nodes))
    alive = [node for node in wire.nodes if node != dead]
    nodes.kill(dead)
    for node in alive:
        wire.eventually(lambda node=node: _must_list(wire, node, everyone, {dead}), within=WITHIN_S)
    nodes.start(dead)
    for node in wire.nodes:
        wire.eventually(lambda node=node: _must_list(wire, node, everyone, set()), within=WITHIN_S)


def _about(**fields):
    return request("DescribeCluster", **fields)


def _must_list(wire, node, everyone, fenced):
    for version in wire.versions("DescribeCluster"):
        for included in (True, False) if version >= WITH_FENCED else (False,):
            answer = wire.ask(_about(include_fenced_brokers=included), version=version, to=node).must_succeed()
            found = {row.broker_id: (row.host, row.port, row.is_fenced) for row in answer.struct.brokers}
            wanted = {one: (*where, one in fenced) for one, where in everyone.items() if included or one not in fenced}
            said = f"the brokers (host, port, fenced) are {found}; they must be {wanted}"
            answer.must(found == wanted, said, "brokers")
    for version in wire.versions("Metadata"):
        answer = wire.metadata(to=node, version=version)
        answer.examined = True  # version 0 says of each partition that a replica is not there
        named, alive = {row.node_id for row in answer.struct.brokers}, {*everyone} - fenced
        answer.must(named == alive, f"the brokers are {named}; those that live are {alive}", "brokers")


def _must_agree(wire, topic, node, cluster_id, brokers):
    """Compares every version of Metadata with the newest; returns the authorized operations of the cluster and of the
    topic.
    """
    of_cluster, of_topic = set(), set()
    for version in wire.versions("Metadata"):
        asked = request("Metadata", topics=[{"name": topic}], allow_auto_topic_creation=False)
        if version >= OF_CLUSTERS[0]:
            asked.include_topic_authorized_operations = True
        if version in OF_CLUSTERS:
            asked.include_cluster_authorized_operations = True
        answer = wire.ask(asked, version=version, to=node).must_succeed()
        racks = version >= 1
        found = {(row.node_id, row.host, row.port, row.rack if racks else None) for row in answer.struct.brokers}
        right = {(*row[:3], row[3] if racks else None) for row in brokers}
        answer.must(found == right, f"the brokers are {found}; in the newest version they are {right}", "brokers")
        if version >= 1:
            known = answer.struct.controller_id in {row[0] for row in brokers}
            answer.must(known, f"the controller {answer.struct.controller_id} is no broker", "controller_id")
        if version >= 2:
            answer.must_have("cluster_id", cluster_id)
        if version >= OF_CLUSTERS[0]:
            of_topic.add(answer.struct.topics[0].topic_authorized_operations)
        if version in OF_CLUSTERS:
            of_cluster.add(answer.struct.cluster_authorized_operations)
        one = len(of_topic) <= 1 and len(of_cluster) <= 1
        answer.must(one, f"the operations on the topic are {of_topic}, on the cluster {of_cluster}, as the version is")
    return of_cluster, of_topic
