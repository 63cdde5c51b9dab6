"""Logs so long that a replica takes a while to copy them: meanwhile it lacks most of what was acknowledged."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import NO_NODE, WITHIN_S, all_in_sync, partition, placed
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.lost_log import log_dirs, lose_log

ALONE = {"min.insync.replicas": "1"}
MUCH, BYTES = 24, 900_000
"""Batches; a follower takes one of them with each request, or a few."""


@case(
    "replication/log-lost-while-away",
    guarantees=["repl-001", "repl-002", "repl-005"],
    needs=["three-nodes", "leaders", "topic-settings", "kill", "restart"],
    apis={"CreateTopics": 5, "DescribeLogDirs": 1},
    detects=["B25"],
)
def who_lost_its_log_is_in_sync_when_it_has_it_again(wire, nodes, rng):
    """A replica that lost its log while it was down MUST NOT be in sync before it has copied all of it: when the leader
    dies as soon as the other is in sync, that one MUST lead with everything that was acknowledged.
    """
    leader, follower = rng.sample(wire.nodes, 2)
    survivors = [node for node in wire.nodes if node != leader]
    topic = placed(wire, "t", [leader, follower], **ALONE)
    all_in_sync(wire, topic)
    values = filled(wire, topic)
    folders = log_dirs(wire, follower, topic)
    nodes.kill(follower)
    wire.until(
        lambda: follower not in partition(wire, topic).isr_nodes, within=WITHIN_S, what=f"node {follower} is left out"
    )
    lose_log(wire, nodes, follower, folders, topic)
    nodes.start(follower)
    wire.until(
        lambda: follower in wire.metadata(topic, to=leader).struct.topics[0].partitions[0].isr_nodes,
        within=WITHIN_S,
        what=f"node {follower} is in sync again",
    )
    nodes.kill(leader)
    for node in survivors:
        wire.until(
            lambda node=node: (
                wire.metadata(topic, to=node).struct.topics[0].partitions[0].leader_id not in (leader, NO_NODE)
            ),
            within=WITHIN_S,
            what=f"node {follower} leads by what node {node} shows",
        )
    wire.refresh_metadata(topic)
    must_begin_with(wire, topic, values)


def filled(wire, topic):
    """Its records, all of them acknowledged by each replica in sync."""
    values = [f"{number:02} ".encode() + b"x" * BYTES for number in range(MUCH)]
    for number, value in enumerate(values):
        wire.produce(topic, batch(value)).must_be_at(number)
    return values


def must_begin_with(wire, topic, values):
    """The log has these records, and perhaps more."""
    log = wire.read_all(topic)
    found = log.values[: len(values)]
    right = sum(1 for one, other in zip(found, values, strict=False) if one == other)
    log.must(
        found == values,
        f"of {len(values)} acknowledged records {right} are at their offsets; all of them must be there",
    )
