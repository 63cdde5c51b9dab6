"""Brokers in ZooKeeper: how each is registered, and how long it stays so (Kafka up to 3.9)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch

SESSION_S = 18.0  # zookeeper.session.timeout.ms by default; targets that we start have a shorter one
WITHIN_S = SESSION_S + 5
NEEDS = ("zookeeper", "started")


def registered(wire, zookeeper, node):
    """Waits until a broker is registered, and returns how."""
    return wire.until(
        lambda: (found := zookeeper.broker(node)).exists and found, within=WITHIN_S, what=f"node {node} is registered"
    )


def gone(wire, zookeeper, node, within=WITHIN_S):
    wire.until(
        lambda: not zookeeper.broker(node).exists, within=within, what=f"the registration of node {node} is gone"
    )


@case(
    "zookeeper/brokers-are-registered",
    guarantee="zk-001",
    needs=NEEDS,
    apis={"Metadata": 1},
    detects=[edit_answer("brokers[].port", add=1, api="Metadata")],
)
def every_live_broker_has_an_ephemeral_node(wire, zookeeper):
    """Each live broker MUST have an ephemeral node /brokers/ids/N whose host and port are those in Metadata."""
    listed = {row.node_id: (row.host, row.port) for row in wire.metadata().struct.brokers}
    found = zookeeper.brokers()
    wire.must(sorted(found) == sorted(listed), f"ZooKeeper has the brokers {sorted(found)}, Metadata {sorted(listed)}")
    for node, seen in found.items():
        host, port = listed[node]
        wire.must(seen.ephemeral_owner != 0, f"{seen.path} is not ephemeral: it would outlive its broker")
        place = (seen.fields.get("host"), seen.fields.get("port"))
        wire.must(place == (host, port), f"{seen.path} says {place}, Metadata says {(host, port)}")
        ends = seen.fields.get("endpoints", [])
        wire.must(any(end.endswith(f"://{host}:{port}") for end in ends), f"{seen.path} has the endpoints {ends}")


@case(
    "zookeeper/registration-ends-with-its-broker",
    guarantee="zk-002",
    needs=[*NEEDS, "three-nodes", "kill", "terminate", "restart"],
    apis={"Metadata": 1},
    detects=[edit_answer("brokers[]", repeat=True, api="Metadata")],
)
def a_registration_ends_with_its_broker(wire, nodes, zookeeper):
    """The node of a broker MUST be gone at once after a clean stop, and within the session timeout after a kill;
    Metadata MUST show the same brokers, each once."""
    stopped, killed = nodes.ids[:2]
    nodes.terminate(stopped)
    gone(wire, zookeeper, stopped, within=2)
    nodes.start(stopped)
    registered(wire, zookeeper, stopped)
    nodes.kill(killed)
    gone(wire, zookeeper, killed)
    left = [node for node in wire.nodes if node != killed]
    wire.until(lambda: _shown(wire, left[0]) == left, within=WITHIN_S, what=f"Metadata shows the brokers {left}")


@case(
    "zookeeper/registered-again-after-its-session",
    guarantee="zk-004",
    needs=[*NEEDS, "pause"],
    apis={"Produce": 3},
    detects=[edit_answer("responses[].partition_responses[].base_offset", add=1, api="Produce")],
)
def a_broker_whose_session_ended_registers_again(wire, topic, nodes, zookeeper):
    """A broker whose session ended while it stood still MUST register again with a new session, and serve."""
    node = nodes.of(topic)
    before = registered(wire, zookeeper, node)
    nodes.pause(node)
    gone(wire, zookeeper, node)
    nodes.resume(node)
    after = registered(wire, zookeeper, node)
    wire.must(after.czxid > before.czxid, f"{after.path} was made in {after.czxid}, before it in {before.czxid}")
    wire.must(after.ephemeral_owner != before.ephemeral_owner, f"{after.path} goes with the session that had ended")
    wire.await_topic(topic)
    wire.produce(topic, batch("after")).must_be_at(0)


def _shown(wire, node):
    return sorted(row.node_id for row in wire.metadata(to=node).struct.brokers)
