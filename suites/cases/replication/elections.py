"""Who leads next: its epoch, what it has, what it knows to be committed, and what the one before must give up."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import (
    NO_NODE,
    WITHIN_S,
    all_in_sync,
    frozen,
    others_lead,
    partition,
    placed,
    replicated,
    roles,
)
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.messages import request

NEEDS = ("three-nodes", "leaders", "topic-settings")
NOT_HERE = (
    errors.NOT_LEADER_OR_FOLLOWER,
    errors.LEADER_NOT_AVAILABLE,
    errors.UNKNOWN_TOPIC_OR_PARTITION,
    errors.NOT_ENOUGH_REPLICAS,
)


@case(
    "replication/epoch-rises",
    guarantees=["repl-007", "rec-005"],
    needs=[*NEEDS, "terminate", "restart"],
    apis={"Metadata": 7, "Fetch": 11},
    detects=["M32a"],
)
def every_leader_has_an_epoch_of_its_own(wire, nodes):
    """A new leader MUST have a higher leader epoch than the one before, in Metadata and in the batches it writes."""
    topic = replicated(wire)
    all_in_sync(wire, topic)
    wire.produce(topic, batch("old")).must_be_at(0)
    before = partition(wire, topic)
    nodes.terminate(before.leader_id)
    others_lead(wire, topic, before.leader_id)
    after = partition(wire, topic)
    wire.must(
        after.leader_epoch > before.leader_epoch,
        f"node {after.leader_id} leads in epoch {after.leader_epoch}, "
        f"and node {before.leader_id} did in epoch {before.leader_epoch}",
    )
    wire.produce(topic, batch("new")).must_be_at(1)
    nodes.start(before.leader_id)
    carried = [part.header.leader_epoch for part in wire.read_all(topic).batches]
    wire.must(carried[0] < carried[1], f"the batches of two leaders carry the epochs {carried}")


@case(
    "replication/stale-replica-never-leads",
    guarantees=["repl-005", "repl-001"],
    needs=[*NEEDS, "kill", "restart"],
    detects=["M33a"],
)
def who_has_not_everything_does_not_lead(wire, nodes):
    """With unclean election off, a replica that is not in sync MUST NOT lead: the partition waits for one that is, and
    all that was acknowledged MUST be there then.

    Of two replicas the second is killed and misses a record; then the first is killed, and the second comes back alone.
    """
    first, second = nodes.ids[:2]
    topic = placed(wire, "two", [first, second], **{"min.insync.replicas": "1"})
    all_in_sync(wire, topic)
    wire.produce(topic, batch("both")).must_be_at(0)
    nodes.kill(second)
    wire.until(lambda: partition(wire, topic).isr_nodes == [first], within=WITHIN_S, what="the dead one is left out")
    wire.produce(topic, batch("the first alone")).must_be_at(1)

    nodes.kill(first)
    nodes.start(second)
    wire.until(lambda: alive_without(wire, topic, second, first), within=WITHIN_S, what="the second is back alone")
    leader = partition(wire, topic).leader_id
    wire.must(leader == NO_NODE, f"node {leader} leads, and it lacks what was acknowledged")
    wire.produce(topic, batch("lost"), acks=1, to=second).must_be_refused(*NOT_HERE)
    nodes.start(first)
    wire.await_topic(topic)
    wire.read_all(topic).must_hold("both", "the first alone")


@case(
    "replication/committed-stays-in-sight",
    guarantees=["repl-011", "fetch-010"],
    needs=[*NEEDS, "kill", "restart"],
    apis={"Fetch": 11, "ListOffsets": 5},
    detects=["M33b"],
)
def a_new_leader_shows_what_it_knows_to_be_committed(wire, nodes):
    """After a clean fail-over no consumer MUST be sent back: the high watermark MUST NOT fall below what the new
    leader has shown before, and the end listed MUST be that or none yet (78).

    The followers serve consumers, and so show what they know. Nothing is written after the fail-over.
    """
    topic = replicated(wire)
    all_in_sync(wire, topic)
    leader, followers = roles(wire, topic)
    for number in range(3):
        wire.produce(topic, batch(f"{number}")).must_be_at(number)
    for node in followers:
        wire.until(lambda node=node: shows(wire, topic, node, 3), within=WITHIN_S, what=f"node {node} knows the end")

    nodes.kill(leader)
    others_lead(wire, topic, leader)
    seen = wire.fetch(topic, offset=0)
    seen.must(seen.high_watermark == 3, f"the high watermark is {seen.high_watermark}; it was 3 on every replica")
    seen.must_hold("0", "1", "2")
    wire.list_offsets(topic).must_name(offset=3)  # while it answers 78, it is asked again
    nodes.start(leader)


@case(
    "replication/old-tail-is-dropped",
    guarantees=["repl-009", "ord-005"],
    needs=[*NEEDS, "kill", "pause", "restart"],
    apis={"ElectLeaders": 1},
    detects=["M34c"],
)
def what_the_former_leader_had_alone_is_gone(wire, nodes):
    """A leader that comes back MUST give up what it alone had: when it leads again, every offset holds what the leader
    in between returned.

    Its followers are paused while it appends two more batches (the first may still have been on its way); it is killed,
    and they go on without it and write more than it had.
    """
    topic = replicated(wire)
    all_in_sync(wire, topic)
    leader, followers = roles(wire, topic)
    wire.produce(topic, batch("all"), to=leader).must_be_at(0)
    frozen(nodes, followers)
    wire.produce(topic, batch("on its way"), acks=1, to=leader).must_be_at(1)
    wire.produce(topic, batch("alone", "alone"), acks=1, to=leader).must_be_at(2)
    nodes.kill(leader)
    for node in followers:
        nodes.resume(node)

    others_lead(wire, topic, leader)
    wire.until(lambda: written(wire, topic) > 5, within=WITHIN_S, what="the new leader has more than the old one had")
    between = wire.read_all(topic).values
    nodes.start(leader)
    all_in_sync(wire, topic)
    wire.until(lambda: leads_again(wire, topic, leader), within=WITHIN_S, what=f"node {leader} leads again")
    wire.read_all(topic).must_hold(*between)


def alive_without(wire, topic, back, dead):
    """Whether a node is among the brokers again, and the dead one leads no more."""
    alive = [row.node_id for row in wire.refresh_metadata(topic).brokers]
    return back in alive and partition(wire, topic).leader_id != dead


def shows(wire, topic, node, end):
    """Whether a follower returns this high watermark to consumers."""
    answer = wire.fetch(topic, offset=0, to=node)
    if answer.error == errors.NOT_LEADER_OR_FOLLOWER:
        wire.not_applicable("followers do not serve consumers: what they know to be committed does not show")
    return answer.high_watermark >= end


def written(wire, topic):
    """Writes one more record; the end of the log, if it was taken."""
    return 0 if wire.produce(topic, batch("new")).error else wire.log_end(topic)


def leads_again(wire, topic, node):
    """Asks for the first replica to lead, and whether it does."""
    rows = [{"topic": topic, "partitions": [0]}]
    asked = wire.ask(request("ElectLeaders", topic_partitions=rows, timeout_ms=10_000), to=wire.controller)
    return asked.error in (errors.NONE, errors.ELECTION_NOT_NEEDED) and partition(wire, topic).leader_id == node
