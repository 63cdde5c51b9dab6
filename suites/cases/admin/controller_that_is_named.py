"""The node that clients are to ask for changes, named by Metadata and DescribeCluster: one that lives (KIP-590)."""

from brokertrial.suites.case import case
from brokertrial.wire.messages import request

WITHIN_S = 60


@case(
    "admin/controller-that-is-named-lives",
    guarantees=["kraft-006", "prot-015"],
    needs=["three-nodes", "kill", "restart"],
    apis={"Metadata": 1, "DescribeCluster": 0, "CreateTopics": 0},
    detects=["B69"],
)
def who_is_named_can_be_asked(wire, nodes, rng):
    """While a node is dead, Metadata and DescribeCluster of the others MUST come to name a controller that is among the
    brokers that they list, and a topic that is asked for there MUST be created.

    Each of three nodes dies in turn and is started again.
    """
    for dead in rng.sample(list(wire.nodes), len(wire.nodes)):
        nodes.kill(dead)
        for node in wire.nodes:
            if node != dead:
                wire.eventually(
                    lambda at=node, without=dead: _must_name_one_that_lives(wire, at, without), within=WITHIN_S
                )
        asked = next(node for node in wire.nodes if node != dead)
        named = _named(wire, asked)
        wire.create_topic(wire.name("t"), replicas=2, to=named).must_succeed()
        nodes.start(dead)
        wire.until(lambda at=asked: len(_listed(wire, at)) == len(wire.nodes), within=WITHIN_S, what="all are listed")


def _must_name_one_that_lives(wire, node, dead):
    for api, extra in (("Metadata", {"topics": []}), ("DescribeCluster", {})):  # type: ignore[var-annotated]
        answer = wire.ask(request(api, **extra), to=node).must_succeed()
        listed = {row.broker_id if api == "DescribeCluster" else row.node_id for row in answer.struct.brokers}
        found = answer.struct.controller_id
        answer.must(dead not in listed, f"{api} lists node {dead}, which is dead", "brokers")
        what = f"{api} names the controller {found} and lists the brokers {sorted(listed)}; node {dead} is dead"
        answer.must(found in listed, what, "controller_id")


def _named(wire, node):
    return wire.ask(request("Metadata", topics=[]), to=node).must_succeed().struct.controller_id


def _listed(wire, node):
    return wire.ask(request("Metadata", topics=[]), to=node).must_succeed().struct.brokers
