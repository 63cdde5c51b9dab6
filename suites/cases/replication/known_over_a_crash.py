"""What a replica knew to be committed, once it is back from a crash and no other can say so."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import (
    NO_NODE,
    WITHIN_S,
    all_in_sync,
    leader_shown,
    placed,
)
from brokertrial.suites.cases.replication.elections import shows
from brokertrial.suites.probe import batch
from brokertrial.wire import errors

SAVED, SAVED_MS = "replica.high.watermark.checkpoint.interval.ms", 5_000
"""Kafka's default, for brokers that do not say."""
NOT_SERVED = (errors.NOT_LEADER_OR_FOLLOWER, errors.LEADER_NOT_AVAILABLE, errors.UNKNOWN_TOPIC_OR_PARTITION)


@case(
    "replication/what-a-follower-knew-committed-over-a-crash",
    guarantees=["repl-011", "repl-001"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    apis={"Fetch": 11},
    detects=["J11"],
)
def it_gives_out_what_was_given_out(wire, nodes, rng):
    """A follower that comes back from a crash without its leader MUST give consumers what it knew to be committed for
    longer than it takes to save that (replica.high.watermark.checkpoint.interval.ms): consumers do not go back.

    Two replicas, and both are needed (min.insync.replicas): the one that is back alone cannot find out anew what is
    committed. It leads, or no node does and it serves what it has, or no consumer is served.
    """
    if wire.setting(SAVED) is not None:
        wire.needs_setting(SAVED, at_most=SAVED_MS)
    leads, follows = rng.sample(list(wire.nodes), 2)
    alive = next(node for node in wire.nodes if node not in (leads, follows))
    topic = placed(wire, "t", [leads, follows], **{"min.insync.replicas": "2"})
    all_in_sync(wire, topic)
    values = [f"{number}" for number in range(rng.randint(2, 5))]
    for number, value in enumerate(values):
        wire.produce(topic, batch(value)).must_be_at(number)
    wire.read_all(topic).must_hold(*values)
    wire.until(lambda: shows(wire, topic, follows, len(values)), within=WITHIN_S, what=f"node {follows} knows the end")
    wire.rest(SAVED_MS / 1000 + 2)
    for node in (leads, follows):
        nodes.kill(node)
    nodes.start(follows)
    wire.until(
        lambda: leader_shown(wire, topic, alive) in (follows, NO_NODE),
        within=WITHIN_S,
        what=f"node {leads} leads no more",
    )
    wire.eventually(lambda: _must_be_given_out(wire, topic, follows, values), within=WITHIN_S)
    nodes.start(leads)
    all_in_sync(wire, topic)
    wire.read_all(topic).must_hold(*values)


def _must_be_given_out(wire, topic, node, values):
    seen = wire.fetch(topic, offset=0, to=node)
    if seen.error in NOT_SERVED:
        wire.not_applicable(f"nobody leads, and node {node} serves no consumer then")
    found, mark = [record.value.decode() for record in seen.records], seen.high_watermark
    seen.must(
        (mark, found) == (len(values), values),
        f"node {node} gives out {found} and says that {mark} are committed; {values} were read before it was killed",
        f"{seen.row}.records",
    )
