"""A cluster and its ensemble: the identity that stays, and what goes on while ZooKeeper is away (Kafka up to 3.9)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.cases.zookeeper.brokers import WITHIN_S
from brokertrial.suites.cases.zookeeper.controllers import elected
from brokertrial.suites.probe import batch
from brokertrial.wire import errors

NEEDS = ("zookeeper", "started")
MADE = (0, errors.TOPIC_ALREADY_EXISTS)


@case(
    "zookeeper/cluster-id-stays",
    guarantee="zk-013",
    needs=[*NEEDS, "terminate", "restart"],
    apis={"Metadata": 2},
    detects=[edit_answer("cluster_id", set="another", api="Metadata")],
)
def the_cluster_id_is_set_once(wire, nodes, zookeeper):
    """/cluster/id MUST be persistent, be what Metadata of every broker says, and stay when brokers are restarted."""
    first = zookeeper.node("/cluster/id")
    wire.must(first.exists and first.ephemeral_owner == 0, "/cluster/id is missing, or ephemeral")
    for node in nodes.ids:
        nodes.stop_and_start(node)
        wire.metadata(to=node).must_have("cluster_id", first.fields["id"])
    again = zookeeper.node("/cluster/id")
    wire.must(again.mzxid == first.mzxid, f"/cluster/id was written again: {first.fields}, then {again.fields}")


@case(
    "zookeeper/leaders-outlive-the-ensemble",
    guarantee="zk-012",
    needs=[*NEEDS, "terminate", "restart", "partitions"],
    apis={"Produce": 3},
    detects=[edit_answer("responses[].partition_responses[].base_offset", add=1, api="Produce")],
)
def leaders_serve_while_zookeeper_is_away(wire, topic, nodes, zookeeper):
    """While all ZooKeeper servers are down, leaders MUST go on serving; when they are back, leaders and in-sync
    replicas MUST be as before, there MUST be a controller, and topics can be made."""
    wire.produce(topic, batch("before")).must_be_at(0)
    before = zookeeper.state(topic)
    zookeeper.stop()
    wire.produce(topic, batch("meanwhile")).must_be_at(1)
    wire.read_all(topic).must_hold("before", "meanwhile")
    zookeeper.start()
    elected(wire, zookeeper)
    after = zookeeper.state(topic)
    wire.must(after.version == before.version, f"the state was {before.fields}, and is {after.fields}")
    wire.produce(topic, batch("after")).must_be_at(2)
    wire.read_all(topic).must_hold("before", "meanwhile", "after")
    made = wire.name()
    wire.until(lambda: wire.create_topic(made).error in MADE, within=WITHIN_S, what="a topic can be made again")
    wire.await_topic(made)
    wire.produce(made, batch("first")).must_be_at(0)
