"""Who is who in a partition of three replicas, and what cases about it do to the nodes."""

from brokertrial.wire import errors
from brokertrial.wire.messages import request

COPIES = {"min.insync.replicas": "2"}
WITHIN_S = 60
NO_NODE = -1


def replicated(wire, **settings):
    """A topic of one partition on three nodes, of which two must have what acks=all acknowledges."""
    return wire.new_topic(partitions=1, replicas=3, configs={**COPIES, **settings})


def placed(wire, what, on, **settings):
    """A topic of one partition on these nodes, the first of which leads it."""
    topic = wire.name(what)
    made = wire.create_topic(topic, partitions=-1, assignments={0: on}, configs=settings)
    if made.error in (errors.UNSUPPORTED_VERSION, errors.INVALID_REQUEST, errors.INVALID_REPLICA_ASSIGNMENT):
        wire.not_applicable("the broker places partitions by itself", "unsupported")
    made.must_succeed()
    wire.await_topic(topic)
    return topic


def roles(wire, topic):
    """The leader and its followers."""
    row = partition(wire, topic)
    return row.leader_id, [node for node in row.replica_nodes if node != row.leader_id]


def partition(wire, topic):
    """What Metadata says of the partition now."""
    return wire.refresh_metadata(topic).topics[0].partitions[0]


def others_lead(wire, topic, former):
    """Waits until another node leads, and names it."""

    def found():
        return [one for one in [partition(wire, topic).leader_id] if one not in (NO_NODE, former)]

    (leader,) = wire.until(found, within=WITHIN_S, what=f"another node than {former} leads {topic}")
    return leader


def all_in_sync(wire, topic):
    """Waits until every replica is in sync."""
    wire.until(
        lambda: set(partition(wire, topic).isr_nodes) == set(partition(wire, topic).replica_nodes),
        within=WITHIN_S,
        what=f"every replica of {topic} is in sync",
    )


def frozen(nodes, followers):
    """Freezes these nodes. Until `thawed` the case asks the leader alone, by its id: others do not answer."""
    for node in followers:
        nodes.pause(node)


def thawed(wire, nodes, topic, followers):
    """Lets them go on, and waits until they have caught up."""
    for node in followers:
        nodes.resume(node)
    wire.await_topic(topic)
    all_in_sync(wire, topic)


def leader_shown(wire, topic, asked):
    """Who leads the first partition by what this node shows; NO_NODE where nobody does."""
    return wire.metadata(topic, to=asked).struct.topics[0].partitions[0].leader_id


def reassign(wire, moves, to, index=0):
    """AlterPartitionReassignments of one partition of each topic, which must be accepted."""
    rows = [
        {"name": topic, "partitions": [{"partition_index": index, "replicas": after}]} for topic, after in moves.items()
    ]
    wire.ask(request("AlterPartitionReassignments", timeout_ms=10_000, topics=rows), to=to).must_succeed()


def on_the_move(wire, to):
    """The topics that ListPartitionReassignments names, and the answer."""
    answer = wire.ask(request("ListPartitionReassignments", topics=None, timeout_ms=10_000), to=to).must_succeed()
    return [row.name for row in answer.struct.topics], answer
