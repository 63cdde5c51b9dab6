"""Followers that have more than the next leader, and a log that could not be copied in a moment."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._replicas import NEEDS, REPLICATED_S, is_in_sync, shown_by
from brokertrial.suites.cases.replication._roles import NO_NODE, WITHIN_S, all_in_sync, placed, reassign
from brokertrial.suites.cases.replication.elections import leads_again
from brokertrial.suites.cases.replication.long_logs import ALONE, filled, must_begin_with
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.apart import apart

LATER_S = (0.15, 0.4, 0.9, 1.2, 1.5)
"""A follower asks the new leader soon after the heal, and takes a while to copy so long a log."""


@case(
    "partition/ahead-of-the-next-leader",
    guarantees=["repl-001", "repl-009", "repl-002"],
    needs=[*NEEDS, "kill", "restart"],
    apis={"CreateTopics": 5, "ElectLeaders": 1, "AlterPartitionReassignments": 0},
    detects=["B24"],
)
def who_gives_up_the_end_of_its_log_keeps_the_rest(wire, nodes, rng):
    """A follower that has records which the new leader lacks MUST keep all that was acknowledged when it gives them up:
    where the new leader dies at once, whoever leads next MUST have it, from the first offset on.

    Five times, each after another time. The first node is never the one that dies: others ask it who leads.
    """
    topic = placed(wire, "t", rng.sample(wire.nodes, 3), **ALONE)
    all_in_sync(wire, topic)
    values = filled(wire, topic)
    led = 0
    for later_s in rng.sample(LATER_S, len(LATER_S)):
        leader = wire.leader(topic)
        new = rng.choice([node for node in wire.nodes[1:] if node != leader])
        others = [node for node in wire.nodes if node != new]
        reassign(wire, {topic: [new, *others]}, to=wire.controller)
        with apart(nodes, new, "brokers"):
            wire.produce(topic, batch("ahead"), acks=1).must_succeed()
            wire.rest(REPLICATED_S)
            wire.until(
                lambda new=new: leads_again(wire, topic, new) or not is_in_sync(wire, topic, new, new),
                within=WITHIN_S,
                what=f"node {new} leads {topic}, or is not in sync any more",
            )
        wire.rest(later_s)
        nodes.kill(new)
        for node in others:
            wire.until(
                lambda node=node, gone=new: is_led_or_waits(wire, topic, node, gone),
                within=WITHIN_S,
                what=f"another node than {new} leads {topic}",
            )
        if all(shown_by(wire, topic, node).leader_id not in (new, NO_NODE) for node in others):
            led += 1
            wire.refresh_metadata(topic)
            must_begin_with(wire, topic, values)
        nodes.start(new)
        wire.await_topic(topic)
        all_in_sync(wire, topic)
        wire.refresh_metadata(topic)
    if not led:
        wire.unclear("each time the new leader had left the others out before it died", "unobserved")


def is_led_or_waits(wire, topic, node, gone):
    """Whether another leads by what a node shows, or nobody may, since the dead one alone was in sync."""
    row = shown_by(wire, topic, node)
    return row.leader_id not in (gone, NO_NODE) or (row.leader_id == NO_NODE and row.isr_nodes == [gone])
