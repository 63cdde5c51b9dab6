"""Produce requests without an answer (acks=0) at a node that does not lead the partition."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, leader_shown, placed, reassign
from brokertrial.suites.cases.replication.elections import leads_again
from brokertrial.suites.probe import batch
from brokertrial.wire.messages import request

ALONE = {"min.insync.replicas": "1"}


@case(
    "replication/unheard-at-a-former-leader",
    guarantee="prod-009",
    level="should",
    needs=["three-nodes", "leaders", "topic-settings"],
    apis={"CreateTopics": 5, "Produce": 3, "AlterPartitionReassignments": 0, "ElectLeaders": 1},
    detects=["B36"],
)
def its_connection_is_closed(wire, rng):
    """A node SHOULD close the connection on a Produce with acks=0 for a partition that it does not lead, or does not
    lead any more: nothing else says to that producer that its records are in no log, and that it has to look for the
    leader. Apache Kafka does so (KAFKA-955); no document promises it.

    To a follower, to a node without a replica, and to a leader that has taken records on that connection before.
    """
    former, next_one, other = rng.sample(list(wire.nodes), 3)
    topic = placed(wire, "t", [former, next_one], **ALONE)
    all_in_sync(wire, topic)
    for node in rng.sample([next_one, other], 2):
        line = wire.connect(f"unheard {node}", node)
        _must_be_closed(wire, line, topic, f"node {node} does not lead {topic}")
    line = wire.connect("unheard before", former)
    _send(wire, line, topic, "taken")
    wire.until(lambda: wire.log_end(topic) == 1, within=WITHIN_S, what="the leader has what it was sent")
    reassign(wire, {topic: [next_one, former]}, to=wire.controller)
    wire.until(lambda: leads_again(wire, topic, next_one), within=WITHIN_S, what=f"node {next_one} leads {topic}")
    wire.until(
        lambda: leader_shown(wire, topic, former) == next_one, within=WITHIN_S, what=f"node {former} knows who leads"
    )
    _must_be_closed(wire, line, topic, f"node {former} does not lead {topic} any more")
    wire.refresh_metadata(topic)
    wire.read_all(topic).must_hold("taken")


def _send(wire, line, topic, value):
    version = wire.versions("Produce")[-1]
    parts = [{"index": 0, "records": batch(value)}]
    rows = [{"name": topic, "topic_id": wire.topic_id(topic), "partition_data": parts}]
    asked = request("Produce", acks=0, timeout_ms=5_000, topic_data=rows)
    line.send_bytes(wire.frame(asked, version, correlation_id=7))


def _must_be_closed(wire, line, topic, because):
    _send(wire, line, topic, "nowhere")
    wire.must_close(line, because=f"{because}, and its producer hears nothing else")
