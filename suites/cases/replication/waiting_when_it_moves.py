"""Readers that wait at a leader while another node is made leader, or the partition is taken away from it."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._replicas import lead_in_this_order, shown_by
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed, reassign
from brokertrial.suites.probe import COMMITTED, UNCOMMITTED, batch
from brokertrial.wire import errors

ALONE = {"min.insync.replicas": "1"}
WAIT_MS = 45_000
FROM_FOLLOWERS, NAMES_EPOCHS, UNSAID = 11, 9, -1
MOVED = (errors.NOT_LEADER_OR_FOLLOWER, errors.FENCED_LEADER_EPOCH)


@case(
    "replication/waiting-readers-learn-that-it-moved",
    guarantees=["fetch-008"],
    level="should",
    needs=["three-nodes", "leaders", "partitions", "topic-settings"],
    apis={"CreateTopics": 5, "Fetch": 4, "ElectLeaders": 1, "AlterPartitionReassignments": 0},
    detects=["B105"],
)
def who_waits_at_a_former_leader_is_answered(wire, rng):
    """A consumer's Fetch that waits at a leader SHOULD be answered at once, with NOT_LEADER_OR_FOLLOWER (6) or
    FENCED_LEADER_EPOCH (74), when another node is made leader, and when the partition is taken away from the node: it
    learns of the next leader then, not when its wait is over (DelayedFetch, cases A and E).

    Each version, in drawn isolations, at several partitions. From version 11 on who names no epoch may go on to read
    from the follower that the leader becomes (KIP-392): it is asked only where the replica is taken away.
    """
    for how in rng.sample((_is_led_by_another, _is_taken_away), 2):
        first, second, third = rng.sample(list(wire.nodes), 3)
        topic = placed(wire, how.__name__.strip("_").replace("_", " "), [first, second], **ALONE)
        all_in_sync(wire, topic)
        wire.produce(topic, batch("a")).must_be_at(0)
        waiting = [_waits(wire, rng, topic, first, version, how) for version in wire.versions("Fetch")]
        wire.list_offsets(topic).must_name(offset=1)
        how(wire, topic, [first, second, third])
        seen = wire.eventually(lambda at=first, of=topic: _must_not_lead(wire, of, at), within=WITHIN_S)
        for version, epoch, answer in waiting:
            with wire.part(f"v{version}, epoch {'named' if epoch != UNSAID else 'not named'}"):
                answer.must_be_refused(*MOVED)
                wire.at_once(answer, after=seen, hidden_s=WAIT_MS / 1_000)
        wire.read_all(topic).must_hold("a")


def _waits(wire, rng, topic, node, version, how):
    """A Fetch at the end of the log, on a connection of its own."""
    must_name = version >= FROM_FOLLOWERS and how is _is_led_by_another
    names = version >= NAMES_EPOCHS and (must_name or rng.random() < 0.5)
    epoch = wire.leader_epoch(topic) if names else UNSAID
    answer = wire.fetch(
        topic,
        offset=1,
        isolation=rng.choice((COMMITTED, UNCOMMITTED)),
        max_wait_ms=WAIT_MS,
        leader_epoch=epoch,
        version=version,
        to=node,
        via=f"reader {version} of {topic}",
        wait=False,
        retry=False,
    )
    return version, epoch, answer


def _is_led_by_another(wire, topic, nodes):
    first, second, _ = nodes
    lead_in_this_order(wire, topic, [second, first])
    _await_at(wire, topic, first, lambda row: row.leader_id == second)


def _is_taken_away(wire, topic, nodes):
    first, second, third = nodes
    reassign(wire, {topic: [second, third]}, to=wire.controller)
    _await_at(wire, topic, first, lambda row: first not in row.replica_nodes and row.leader_id != first)


def _must_not_lead(wire, topic, node):
    return wire.list_offsets(topic, to=node, retry=False).must_be_refused(*MOVED)


def _await_at(wire, topic, node, holds):
    wire.until(lambda: holds(shown_by(wire, topic, node)), within=WITHIN_S, what=f"node {node} knows it")
    wire.await_topic(topic)
