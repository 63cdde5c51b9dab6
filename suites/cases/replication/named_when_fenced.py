"""Who leads instead, as a Fetch in an epoch that is over says (KIP-951)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._replicas import lead_in_this_order, shown_by
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed
from brokertrial.suites.probe import batch
from brokertrial.wire import errors

ALONE = {"min.insync.replicas": "1"}
NAMED_SINCE, NOBODY, UNSAID, WAIT_MS = 16, -1, -1, 45_000
MOVED = (errors.NOT_LEADER_OR_FOLLOWER, errors.FENCED_LEADER_EPOCH)


@case(
    "replication/leaders-are-named-to-whom-they-fence",
    guarantees=["repl-018"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings"],
    apis={"CreateTopics": 5, "Fetch": NAMED_SINCE, "ElectLeaders": 1, "AlterPartitionReassignments": 0},
    detects=["B107"],
)
def who_asks_in_an_old_epoch_is_named_the_leader(wire, rng):
    """Where a node names leaders with NOT_LEADER_OR_FOLLOWER (6), it MUST name them with FENCED_LEADER_EPOCH (74) too:
    the present leader, its epoch, and its address as Metadata has it.

    A consumer that knows the former epoch asks the new leader, the former one and a node without a replica, and waits
    at the former one when it is deposed; each is the only partition of its request, in every version that names them.
    """
    for version in [each for each in wire.versions("Fetch") if each >= NAMED_SINCE]:
        first, second, third = rng.sample(list(wire.nodes), 3)
        topic = placed(wire, f"v{version}", [first, second], **ALONE)
        all_in_sync(wire, topic)
        wire.produce(topic, batch("a")).must_be_at(0)
        old = wire.leader_epoch(topic)
        how = {"offset": 1, "version": version, "retry": False, "max_wait_ms": 0}
        waiting = wire.fetch(
            topic,
            leader_epoch=old,
            to=first,
            via=f"reader v{version}",
            wait=False,
            **how | {"max_wait_ms": WAIT_MS},
        )
        wire.list_offsets(topic).must_name(offset=1)
        lead_in_this_order(wire, topic, [second, first])
        for node in (first, second, third):
            wire.until(
                lambda at=node, of=topic, new=second: shown_by(wire, of, at).leader_id == new,
                within=WITHIN_S,
                what=f"node {node} knows who leads",
            )
        leads = (second, shown_by(wire, topic, second).leader_epoch)
        elsewhere = wire.fetch(topic, to=third, **how).must_be_refused(errors.NOT_LEADER_OR_FOLLOWER)
        if _named(elsewhere)[0] == NOBODY:
            wire.not_applicable("the broker names no leaders")
        _must_name(wire, elsewhere, third, leads)
        for node in (second, first):
            with wire.part(f"v{version}, asked of who {'leads' if node == second else 'led before'}"):
                _must_name(wire, wire.fetch(topic, leader_epoch=old, to=node, **how), node, leads)
        with wire.part(f"v{version}, waiting when it is fenced"):
            _must_name(wire, waiting, first, leads)
        wire.fetch(topic, leader_epoch=leads[1], to=second, **how).must_succeed()


def _named(answer):
    leader = answer.struct.responses[0].partitions[0].current_leader
    return leader.leader_id, leader.leader_epoch


def _must_name(wire, answer, node, leads):
    """This one, where Metadata of the same node has it."""
    answer.must_be_refused(*MOVED)
    named = _named(answer)
    answer.must(named == leads, f"it names leader and epoch {named}; they are {leads}", "responses")
    brokers = {row.node_id: (row.host, row.port) for row in wire.metadata(to=node).struct.brokers}
    listed = [(row.node_id, row.host, row.port) for row in answer.struct.node_endpoints]
    right = [(leads[0], *brokers[leads[0]])]
    answer.must(listed == right, f"it lists {listed}; the leader listens at {right}", "node_endpoints")
