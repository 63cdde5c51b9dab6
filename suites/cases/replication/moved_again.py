"""A partition on the move that is to move elsewhere, and who leads it meanwhile."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, partition, placed, reassign
from brokertrial.suites.probe import batch
from brokertrial.wire.messages import request

ALONE = {"min.insync.replicas": "1"}
PREFERRED = 0


@case(
    "replication/moved-again-meanwhile",
    guarantees=["adm-014", "repl-017"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    apis={"AlterPartitionReassignments": 0, "ElectLeaders": 1},
    detects=["D66"],
)
def who_leads_is_a_replica_and_in_sync(wire, nodes, rng):
    """A partition that is on the move MUST be led by one of its replicas, which is in sync, and take records, also when
    it is reassigned anew, to others than the node that was added first and leads it by now: that one MUST stay until
    one of the others is in sync, and no record may be lost.

    It moves to two nodes, of which one is dead and the other comes to lead; then it shall move to the dead one alone.
    Kafka keeps what was being added until a reassignment is complete (apache/kafka#13521). When that must be is not
    asked: Apache Kafka 4.3 and 4.4 wait for ever, for what is to be added and removed at once.
    """
    asked = wire.controller()
    dead = rng.choice([node for node in wire.nodes if node != asked])
    stays, comes = rng.sample([node for node in wire.nodes if node != dead], 2)
    topic = placed(wire, "moved", [stays], **ALONE)
    wire.produce(topic, batch("a")).must_be_at(0)
    nodes.kill(dead)
    reassign(wire, {topic: [comes, dead]}, asked)  # at once: once it is known to be dead, some refuse that
    wire.until(lambda: comes in partition(wire, topic).isr_nodes, within=WITHIN_S, what=f"{comes} is in sync")
    wire.until(lambda: _leads(wire, topic, comes), within=WITHIN_S, what=f"{comes} leads")
    wire.produce(topic, batch("b")).must_be_at(1)
    reassign(wire, {topic: [dead]}, asked)
    wire.eventually(lambda: _must_be_led_in_sync(wire, topic), within=WITHIN_S)
    wire.produce(topic, batch("c")).must_be_at(2)
    nodes.start(dead)
    wire.until(lambda: dead in partition(wire, topic).isr_nodes, within=WITHIN_S, what=f"{dead} is in sync")
    wire.eventually(lambda: _must_be_led_in_sync(wire, topic), within=WITHIN_S)
    wire.produce(topic, batch("d")).must_be_at(3)
    wire.read_all(topic).must_hold("a", "b", "c", "d")


def _leads(wire, topic, node):
    """Given leadership, as the first replica that is in sync; who is not may be dead, and is not asked."""
    found = wire.controller()
    asked = found if found in partition(wire, topic).isr_nodes else node
    rows = [{"topic": topic, "partitions": [0]}]
    elect = request("ElectLeaders", election_type=PREFERRED, topic_partitions=rows, timeout_ms=10_000)
    _ = wire.ask(elect, to=asked, may_take_s=10).struct  # whatever became of it shows
    return partition(wire, topic).leader_id == node


def _must_be_led_in_sync(wire, topic):
    row = partition(wire, topic)
    wire.must(
        row.leader_id in row.replica_nodes and row.leader_id in row.isr_nodes,
        f"it is on {row.replica_nodes}, in sync on {row.isr_nodes}, and led by {row.leader_id}, which must be one of "
        "either",
    )
