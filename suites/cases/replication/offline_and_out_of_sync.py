"""Which replicas Metadata calls offline (KIP-112) while those that die and come back are out of sync all along."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.apart import apart

ALONE = {"min.insync.replicas": "1"}
SOON_S = 10


@case(
    "replication/offline-though-out-of-sync",
    guarantees=["prot-015"],
    needs=["three-nodes", "leaders", "network", "kill", "restart", "topic-settings", "partitions"],
    apis={"Metadata": 5},
    detects=["B328"],
)
def offline_is_who_is_not_alive(wire, nodes, rng):
    """Metadata MUST name as offline each replica whose broker is not alive, and no other, at each broker: also where
    the replica was out of sync before its broker died, so that nothing else changes, and after the broker is back.

    Two topics, one of which has no replica on that node; Metadata is asked before each change too.
    """
    lagging, *others = rng.sample(list(wire.nodes), 3)
    topic, beside = placed(wire, "t", [others[0], lagging], **ALONE), placed(wire, "beside", others, **ALONE)
    all_in_sync(wire, topic)
    with apart(nodes, lagging, "brokers"):
        wire.produce(topic, batch("a"), acks=1, to=others[0]).must_succeed()
        for node in others:
            wire.until(
                lambda node=node: lagging not in _partition(wire, topic, node)[1].isr_nodes,
                within=WITHIN_S,
                what=f"node {lagging} is out of sync",
            )
        for act, offline in ((nodes.kill, [lagging]), (nodes.start, [])):
            act(lagging)
            for node in others:
                wire.until(
                    lambda node=node, dead=bool(offline): (lagging not in _alive(wire, node)) == dead,
                    within=WITHIN_S,
                    what=f"node {node} knows whether node {lagging} is alive",
                )
                for name, wanted in ((topic, offline), (beside, [])):
                    wire.eventually(
                        lambda name=name, node=node, wanted=wanted: _must_be(wire, name, node, wanted), within=SOON_S
                    )
    all_in_sync(wire, topic)


def _partition(wire, topic, node):
    answer = wire.metadata(topic, to=node).must_succeed()
    return answer, answer.struct.topics[0].partitions[0]


def _alive(wire, node):
    return [broker.node_id for broker in wire.metadata(to=node).must_succeed().struct.brokers]


def _must_be(wire, topic, node, wanted):
    answer, row = _partition(wire, topic, node)
    found = list(row.offline_replicas)
    said = ", ".join(map(str, found)) or "none"
    answer.must(
        found == wanted, f"of the replicas {list(row.replica_nodes)} these are offline: {said}", "topics[0].partitions"
    )
