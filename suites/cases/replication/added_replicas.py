"""min.insync.replicas of partitions that were given more replicas while their leader leads on."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, partition, placed, reassign
from brokertrial.suites.probe import batch
from brokertrial.wire import errors

COPIES = "min.insync.replicas"
TOO_FEW = errors.NOT_ENOUGH_REPLICAS, errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND


@case(
    "replication/added-replicas-count-for-min-insync",
    guarantees=["repl-003", "adm-014"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    apis={"AlterPartitionReassignments": 0},
    detects=["B191"],
)
def as_many_are_asked_for_as_there_are_now(wire, nodes, rng):
    """A partition that was given more replicas MUST obey min.insync.replicas as one that was made with them: when fewer
    are in sync, acks=all MUST be refused with NOT_ENOUGH_REPLICAS (19) or NOT_ENOUGH_REPLICAS_AFTER_APPEND (20), and
    acks=1 be taken; where enough are, and as soon as they are again, both MUST be taken, and stay.

    Four partitions, whose leader was there at first and leads on: from one or two replicas to two or three, in one or
    two steps; one of those that came dies, and comes back.
    """
    leads, other, dies = rng.sample(list(wire.nodes), 3)
    grown = {
        placed(wire, "one, then two", [leads], **{COPIES: "2"}): ([[leads, dies]], True),
        placed(wire, "two, then three", [leads, other], **{COPIES: "3"}): ([[leads, other, dies]], True),
        placed(wire, "one, two, then three", [leads], **{COPIES: "3"}): (
            [[leads, other], [leads, other, dies]],
            True,
        ),
        placed(wire, "two are enough", [leads], **{COPIES: "2"}): ([[leads, other, dies]], False),
    }
    for topic, (steps, _) in grown.items():
        wire.produce(topic, batch("a"), acks=1).must_be_at(0)
        for replicas in steps:
            reassign(wire, {topic: replicas}, wire.controller)
            wire.until(
                lambda at=topic, on=replicas: [*partition(wire, at).replica_nodes] == on,
                within=WITHIN_S,
                what=f"{topic} is on {replicas}",
            )
            all_in_sync(wire, topic)
        wire.produce(topic, batch("b")).must_be_at(1)
    nodes.kill(dies)
    for topic, (_, too_few) in grown.items():
        wire.until(lambda at=topic: _is_left_out(wire, at, dies), within=WITHIN_S, what=f"{dies} is out of sync")
        if too_few:
            wire.eventually(lambda at=topic: _must_be_refused(wire, at), within=WITHIN_S)
        else:
            wire.produce(topic, batch("c")).must_be_at(2)
        wire.produce(topic, batch("d"), acks=1).must_succeed()
    nodes.start(dies)
    for topic in grown:
        all_in_sync(wire, topic)
        wire.produce(topic, batch("e")).must_succeed()
        log = wire.read_all(topic)
        kept = [value for value in log.values if value not in (b"c", "c")]
        log.must(len(kept) == len("abde"), f"{log.values} are left; a, b, d and e were acknowledged")


def _is_left_out(wire, topic, dead):
    row = partition(wire, topic)
    return dead not in row.isr_nodes and row.leader_id not in (-1, dead)


def _must_be_refused(wire, topic):
    wire.produce(topic, batch("c"), retry=False).must_be_refused(*TOO_FEW)
