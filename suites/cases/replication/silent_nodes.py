"""A node that falls silent without dying: its connections stay open, and no request is answered."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import NO_NODE, all_in_sync, replicated, roles
from brokertrial.suites.probe import batch

WITHIN_S = 40


@case(
    "replication/silent-node-is-replaced",
    guarantees=["kraft-005", "repl-007"],
    needs=["three-nodes", "leaders", "pause", "topic-settings"],
    apis={"Metadata": 7},
    detects=["Z1", "Z4"],
)
def a_silent_node_is_replaced_and_taken_back(wire, nodes):
    """A node that falls silent MUST lose its leaderships to a replica in sync, under a higher leader epoch, and once it
    is reachable again it MUST be back among the brokers and the replicas in sync.

    The leader is paused. Until it resumes, one follower is asked by its id: a paused node does not answer.
    """
    topic = replicated(wire)
    all_in_sync(wire, topic)
    silent, (witness, _) = roles(wire, topic)
    wire.produce(topic, batch("before")).must_be_at(0)
    epoch = seen_by(wire, topic, witness)[1].leader_epoch

    nodes.pause(silent)
    wire.until(
        lambda: replaced(wire, topic, witness, silent),
        within=WITHIN_S,
        what=f"node {silent} is silent, and another leads {topic}",
    )
    answer, row = seen_by(wire, topic, witness)
    answer.must(
        row.leader_epoch > epoch,
        f"node {row.leader_id} leads in epoch {row.leader_epoch}; node {silent} did in {epoch}",
        "topics[0].partitions[0].leader_epoch",
    )

    nodes.resume(silent)
    wire.until(
        lambda: taken_back(wire, topic, witness, silent),
        within=WITHIN_S,
        what=f"node {silent} is heard again, and is a broker and in sync with {topic}",
    )
    wire.await_topic(topic)
    wire.produce(topic, batch("after")).must_be_at(1)
    wire.read_all(topic).must_hold("before", "after")


def seen_by(wire, topic, node):
    """What one node says of the partition now: the answer, and the row."""
    answer = wire.metadata(topic, to=node)
    return answer, answer.struct.topics[0].partitions[0]


def replaced(wire, topic, witness, silent):
    """Whether the silent node is no broker any more, and another one leads."""
    answer, row = seen_by(wire, topic, witness)
    return row.leader_id not in (silent, NO_NODE) and silent not in [one.node_id for one in answer.struct.brokers]


def taken_back(wire, topic, witness, silent):
    """Whether the node is a broker again, and in sync."""
    answer, row = seen_by(wire, topic, witness)
    return silent in row.isr_nodes and silent in [one.node_id for one in answer.struct.brokers]
