"""Administrators while a node is cut off: what is acknowledged is known to all, what is not is done whole or not."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._changes import TopicChanges
from brokertrial.suites.cases.partition._open_request import OpenRequest, await_answers
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.apart import apart

NEEDS = ["three-nodes", "leaders", "network", "partitions", "topic-settings"]
APIS = {
    "CreateTopics": 5,
    "CreatePartitions": 0,
    "DeleteTopics": 1,
    "IncrementalAlterConfigs": 0,
    "DescribeConfigs": 1,
    "Metadata": 5,
}
FOR_S = 8
"""Longer than a session of a broker and one request of it to the controller: what it missed comes on a new line."""
WITHIN_S = 30


@case(
    "partition/changes-past-a-node",
    guarantees=["kraft-003", "adm-016", "adm-001"],
    needs=NEEDS,
    apis=APIS,
    detects=["B12"],
)
def what_the_others_changed_is_known_to_all(wire, nodes, rng):
    """While a node is cut off from all others, what is acknowledged through the others (topics that are created, grown,
    set and deleted) MUST be so on each of these, and after the heal on every node; what is not acknowledged MUST be
    done whole or not at all.

    Each node in turn: where brokers are controllers too, one of them is the active one.
    """
    made = []
    for cut in rng.sample(wire.nodes, len(wire.nodes)):
        changes = TopicChanges(wire, leader=cut)
        others = [node for node in wire.nodes if node != cut]
        with apart(nodes, cut):
            changes.ask([rng.choice(others) for _ in changes.all])
            wire.eventually(lambda at=others, of=changes: of.must_be_so(at), within=WITHIN_S)
            wire.rest(FOR_S)
        wire.eventually(lambda of=changes: of.must_be_so(wire.nodes), within=WITHIN_S)
        made.append(changes)
    if not all(any(changes.all[kind].acknowledged for changes in made) for kind in range(len(made[0].all))):
        wire.unclear("of one kind of change none was acknowledged", "unobserved")
    for topic in [topic for changes in made for topic in changes.there()]:
        wire.await_topic(topic)
        wire.produce(topic, batch("a")).must_be_at(0)


@case(
    "partition/changes-asked-of-a-node-alone",
    guarantees=["adm-016", "kraft-006"],
    needs=NEEDS,
    apis=APIS,
    detects=["B11"],
)
def a_node_alone_acknowledges_no_change(wire, nodes, rng):
    """A node that is cut off from all others MUST NOT acknowledge that topics are created, grown, set or deleted unless
    the others know it; what it does not acknowledge MUST be done whole or not at all once it is back, on every node.

    Each node in turn: an active controller that is alone takes changes, and must give them up. Another node is asked
    for changes meanwhile, which MUST stay.
    """
    others_did = False
    for cut in rng.sample(wire.nodes, len(wire.nodes)):
        alone, meanwhile = TopicChanges(wire, leader=cut), TopicChanges(wire, leader=cut)
        others = [node for node in wire.nodes if node != cut]
        with apart(nodes, cut):
            open_requests = [OpenRequest(wire, cut, change.request, change.topic) for change in alone.all]
            meanwhile.ask([rng.choice(others) for _ in meanwhile.all])
            await_answers(open_requests, FOR_S, 0.2)
            alone.acknowledged_by(open_requests)
            wire.eventually(lambda at=others, of=alone: of.must_be_so(at), within=WITHIN_S)
        await_answers(open_requests, WITHIN_S, 5)
        alone.acknowledged_by(open_requests)
        for changes in (alone, meanwhile):
            wire.eventually(lambda of=changes: of.must_be_so(wire.nodes), within=WITHIN_S)
        others_did = others_did or any(change.acknowledged for change in meanwhile.all)
    if not others_did:
        wire.unclear("the others acknowledged nothing while one was cut off", "unobserved")
