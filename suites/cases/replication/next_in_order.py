"""Who leads when a leader is gone: the order of the replicas decides, whatever order those in sync are listed in."""

from itertools import permutations

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import all_in_sync, others_lead, partition, placed
from brokertrial.suites.probe import batch

ALONE = {"min.insync.replicas": "1"}


@case(
    "replication/next-in-order-leads",
    guarantees=["repl-002", "adm-013"],
    level="should",
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "terminate", "restart"],
    detects=["B151"],
)
def the_replica_list_is_the_order_of_preference(wire, nodes, rng):
    """When the leader of a partition is gone, the first replica of the partition's list that is in sync SHOULD lead:
    "node 1 is preferred as the leader to either node 5 or 9 because it is earlier in the replica list" (Kafka's
    documentation of leadership). Also when a replica was away meanwhile and is in sync again.

    A topic for each order of three nodes. One node is killed and comes back, then another one is killed or stopped.
    """
    orders = {placed(wire, "t", list(order), **ALONE): order for order in permutations(rng.sample(wire.nodes, 3))}
    for topic in orders:
        all_in_sync(wire, topic)
        wire.produce(topic, batch("a")).must_be_at(0)
    away, gone = rng.sample(wire.nodes, 2)
    _must_be_succeeded(wire, orders, away, lambda: nodes.kill(away))
    nodes.start(away)
    for topic in orders:
        all_in_sync(wire, topic)
    _must_be_succeeded(wire, orders, gone, lambda: rng.choice((nodes.kill, nodes.terminate))(gone))
    nodes.start(gone)
    for topic in orders:
        wire.read_all(topic).must_hold("a")


def _must_be_succeeded(wire, orders, gone, goes):
    """A leader that lives may stay, and may give leadership back to the first replica; those of `gone` are followed."""
    led = [topic for topic in orders if partition(wire, topic).leader_id == gone]
    goes()
    for topic in led:
        leader = others_lead(wire, topic, gone)
        order = orders[topic]
        first = next(one for one in order if one != gone)
        wire.must(
            leader == first,
            f"its replicas are {[*order]}, all were in sync, and {gone} is gone: {leader} leads; it should be {first}",
        )
