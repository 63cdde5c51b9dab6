"""Brokers that fall silent again and again: the controllers watch each of their lives."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._addresses import addresses
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync

WAYS = ("pause", "pause", "kill", "pause", "terminate", "pause")


@case(
    "admin/fenced-each-time",
    guarantees=["kraft-005", "adm-012", "repl-002"],
    needs=["three-nodes", "leaders", "partitions", "pause", "kill", "terminate", "restart"],
    detects=["B354"],
)
def whoever_falls_silent_is_left_out_each_time(wire, topic_of, nodes, rng):
    """A broker that is not heard of any more MUST be fenced each time, however it came back before: the others MUST
    list it no longer, and lead what it led. Once it is heard of again they MUST list it, and its replicas MUST be in
    sync.

    One drawn node is paused twice, killed, paused, stopped and paused, and has come back in between each time.
    """
    topic = topic_of(partitions=3, replicas=3)
    node = rng.choice(list(wire.nodes))
    others = [other for other in wire.nodes if other != node]
    for turn, way in enumerate(WAYS):
        getattr(nodes, way)(node)
        with wire.part(f"{way} after {WAYS[turn - 1] if turn else 'its start'}"):
            for other in others:
                wire.eventually(lambda other=other: _must_be_left_out(wire, topic, node, other), within=WITHIN_S)
        (nodes.resume if way == "pause" else nodes.start)(node)
        for other in others:
            wire.until(
                lambda other=other: node in addresses(wire, other),
                within=WITHIN_S,
                what=f"node {other} lists node {node} again",
            )
        wire.await_topic(topic)
        all_in_sync(wire, topic)


def _must_be_left_out(wire, topic, node, other):
    answer = wire.metadata(topic, to=other)
    answer.examined = True  # a partition without a leader for a moment
    listed = sorted(row.node_id for row in answer.struct.brokers)
    answer.must(node not in listed, f"the brokers are {listed}; node {node} is not heard of", "brokers")
    led = [row.partition_index for row in answer.struct.topics[0].partitions if row.leader_id == node]
    answer.must(not led, f"node {node}, which is not heard of, leads the partitions {led}", "topics[0].partitions")
