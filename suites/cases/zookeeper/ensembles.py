"""A cluster and its ensemble: the identity that stays, and what goes on while ZooKeeper is away (Kafka up to 3.9)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.cases.zookeeper.brokers import WITHIN_S, registered
from brokertrial.suites.cases.zookeeper.controllers import (
    OFFICE,
    each_election_by_itself,
    elected,
    shown_everywhere,
)
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.ensemble_members import frozen, servers
from brokertrial.suites.probe.ensemble_watch import watched
from brokertrial.wire import errors

NEEDS = ("zookeeper", "started")
MADE = (0, errors.TOPIC_ALREADY_EXISTS)
STILL_MS = 6_000
"""More than the session timeout of targets that we start."""
STANDS_S = 60.0
"""For an ensemble to do without one of its servers, and for brokers whose sessions ended to come back."""


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
    _can_be_made(wire)


@case(
    "zookeeper/one-server-stands-still",
    guarantee="zk-012",
    needs=[*NEEDS, "three-nodes", "partitions"],
    apis={"Produce": 3},
    detects=[edit_answer("responses[].partition_responses[].base_offset", add=1, api="Produce")],
)
def a_server_that_stands_still_stops_nothing(wire, topic, nodes, zookeeper):
    """While one of three ZooKeeper servers stands still, whichever it is, leaders MUST go on serving and topics can be
    made; every broker MUST be registered afterwards, and each election have had the next epoch.

    The ensemble notices it after its syncLimit, and elects another leader where that one stood still.
    """
    ensemble = servers(zookeeper)
    if len(ensemble) < 3:
        wire.not_applicable("the ensemble has one server", "missing-capability")
    elected(wire, zookeeper)
    sent = list[str]()
    with watched(zookeeper, OFFICE) as watch:
        for server in ensemble:
            with frozen(zookeeper, server):
                _goes_on(wire, topic, sent, f"server {server} stands still")
            for node in nodes.ids:
                registered(wire, zookeeper, node)
        shown_everywhere(wire, zookeeper)
        each_election_by_itself(wire, watch, elected(wire, zookeeper))
    wire.read_all(topic).must_hold(*sent)


def _goes_on(wire, topic, sent, while_):
    """Records are written all the time, for longer than a session lasts without its server, and a topic is made."""
    begun = wire.now_ms()

    def written():
        wire.produce(topic, batch(f"{len(sent)}")).must_be_at(len(sent))
        sent.append(f"{len(sent)}")
        return wire.now_ms() - begun > STILL_MS

    wire.until(written, within=STANDS_S, what=f"records are written while {while_}")
    _can_be_made(wire, within=STANDS_S)


def _can_be_made(wire, within=WITHIN_S):
    """A topic is made, and serves."""
    made = wire.name()
    wire.until(lambda: wire.create_topic(made).error in MADE, within=within, what="a topic can be made")
    wire.await_topic(made)
    wire.produce(made, batch("first")).must_be_at(0)
