"""What a former leader keeps when it gives up the end of its log: transactions stay as they were decided."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import (
    WITHIN_S,
    all_in_sync,
    frozen,
    others_lead,
    replicated,
    roles,
)
from brokertrial.suites.cases.replication.elections import leads_again, written
from brokertrial.suites.probe import COMMITTED, batch


@case(
    "replication/transactions-below-an-old-tail",
    guarantees=["repl-009", "txn-002", "idem-002"],
    needs=["three-nodes", "leaders", "topic-settings", "kill", "pause", "restart"],
    apis={"ElectLeaders": 1, "AddPartitionsToTxn": 0, "EndTxn": 0},
    detects=["J04"],
)
def what_was_decided_below_it_stays_so(wire, nodes, rng):
    """A leader that comes back and gives up what it alone had MUST keep what lies below it as it was decided: when it
    leads again, aborted records are hidden from read_committed consumers, committed ones are not, and a batch that is
    sent again is known by its sequence.

    One to three turns of a transaction that is aborted and one that is committed, both beside an idempotent producer,
    in one segment; then two batches that no follower has.
    """
    topic = replicated(wire)
    all_in_sync(wire, topic)
    leader, followers = roles(wire, topic)
    aborting, committing = (wire.producer(wire.name(what)) for what in ("aborting", "committing"))
    plain = wire.producer()
    again, known = b"", 0
    for turn in range(rng.randint(1, 3)):
        for producer in (aborting, committing):
            producer.send(topic, f"{producer.transactional_id} {turn}").must_succeed()
        again = plain.batch(f"plain {turn}", sequence=turn)
        known = wire.produce(topic, again, acks=-1).must_succeed().offset
        aborting.abort().must_succeed()
        committing.commit().must_succeed()
        wire.await_settled(topic)
    decided = wire.read_all(topic, isolation=COMMITTED).values
    end = wire.log_end(topic)

    frozen(nodes, followers)
    for value in ("on its way", "alone"):
        wire.produce(topic, batch(value, value), acks=1, to=leader).must_succeed()
    nodes.kill(leader)
    for node in followers:
        nodes.resume(node)
    others_lead(wire, topic, leader)
    wire.until(lambda: written(wire, topic) > end + 4, within=WITHIN_S, what="the new leader has more than the old had")
    between = wire.read_all(topic, isolation=COMMITTED)
    between.must(between.values[: len(decided)] == decided, f"it was {decided}, and is {between.values}")

    nodes.start(leader)
    all_in_sync(wire, topic)
    wire.until(lambda: leads_again(wire, topic, leader), within=WITHIN_S, what=f"node {leader} leads again")
    wire.read_all(topic, isolation=COMMITTED).must_hold(*between.values)
    wire.produce(topic, again, acks=-1).must_be_at(known)
