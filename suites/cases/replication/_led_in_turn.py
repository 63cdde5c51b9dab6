"""A partition is led by one of its replicas and then by another, while all of them live."""

from brokertrial.suites.cases.replication._roles import WITHIN_S, reassign
from brokertrial.wire.messages import request

APIS = {"AlterPartitionReassignments": 0, "ElectLeaders": 1}


def shown(wire, topic, asked, index=0):
    """What this node says of a partition."""
    rows = wire.metadata(topic, to=asked).struct.topics[0].partitions
    return next(row for row in rows if row.partition_index == index)


def comes_to_lead(wire, topic, order, asked, index=0):
    """The replicas are these, in this order, and the first of them leads, by what this node says; no other is asked."""
    reassign(wire, {topic: order}, asked, index)
    rows = [{"topic": topic, "partitions": [index]}]
    elect = request("ElectLeaders", topic_partitions=rows, timeout_ms=10_000)

    def leads():
        row = shown(wire, topic, asked, index)
        if [*row.replica_nodes] == order and row.leader_id != order[0]:
            wire.ask(elect, to=asked).examined = True  # the next look shows what it did
        return [*row.replica_nodes] == order and row.leader_id == order[0]

    wire.until(leads, within=WITHIN_S, what=f"node {order[0]} leads {topic}-{index}")
