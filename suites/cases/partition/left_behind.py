"""Replicas that are alive and replicate nothing while the log goes on: by its front, or to another node."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._replicas import NEEDS, is_in_sync, lead_in_this_order, shown_by
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, on_the_move, placed, reassign
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.apart import apart
from brokertrial.wire import errors
from brokertrial.wire.messages import request

ALONE = {"min.insync.replicas": "1"}
LOOKS, BETWEEN_S = 8, 0.5
"""Longer than it takes until a replica that lags is left out, or is taken for one that does not."""
SOON_MS = 1_000


@case(
    "partition/left-behind-by-the-front",
    guarantees=["repl-001", "repl-002", "adm-011", "ord-006"],
    needs=NEEDS,
    apis={"CreateTopics": 5, "DeleteRecords": 0, "ElectLeaders": 1, "AlterPartitionReassignments": 0},
    detects=["B21"],
)
def who_lacks_what_was_deleted_begins_at_the_front(wire, nodes, rng):
    """A follower that lags while records are deleted beyond what it has MUST come to be in sync again with the log as
    its leader has it: from the new front to the end, at the same offsets, also when it leads.

    Records are deleted up to within a batch that the follower lacks; some stay, and more are written after the heal.
    """
    leader, lagging, third = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [leader, lagging, third], **ALONE)
    all_in_sync(wire, topic)
    for base in range(0, 2 * rng.randint(1, 3), 2):
        wire.produce(topic, batch(f"{base}", f"{base + 1}")).must_be_at(base)
    base = wire.log_end(topic)
    with apart(nodes, lagging, "brokers"):
        for first in range(base, base + 20, 5):
            wire.produce(topic, batch(*(f"{n}" for n in range(first, first + 5))), acks=1).must_be_at(first)
        wire.until(
            lambda: not is_in_sync(wire, topic, lagging, leader), within=WITHIN_S, what=f"node {lagging} is not in sync"
        )
        front, end = base + rng.randint(1, 18), base + 20
        wire.until(lambda: wire.log_end(topic) == end, within=WITHIN_S, what=f"all up to {end} is committed")
        deleted = wire.delete_records(topic, offset=front, timeout_ms=SOON_MS, retry=False)
        deleted.must(deleted.error in (errors.NONE, errors.REQUEST_TIMED_OUT), f"it is answered {deleted.error}")
        wire.list_offsets(topic, at="earliest").must_name(offset=front)
    wire.produce(topic, batch(f"{end}")).must_be_at(end)
    all_in_sync(wire, topic)
    lead_in_this_order(wire, topic, [lagging, leader, third])
    wire.refresh_metadata(topic)
    wire.list_offsets(topic, at="earliest").must_name(offset=front)
    log = wire.read_all(topic)
    log.must_have_offsets(range(front, end + 1)).must_hold(*(f"{n}" for n in range(front, end + 1)))
    wire.produce(topic, batch("next")).must_be_at(end + 1)


@case(
    "partition/moved-to-who-lags",
    guarantees=["adm-014", "repl-001", "repl-002"],
    needs=NEEDS,
    apis={"CreateTopics": 5, "AlterPartitionReassignments": 0, "ListPartitionReassignments": 0},
    detects=["B20"],
)
def a_node_that_replicates_nothing_is_not_moved_to(wire, nodes, rng):
    """A reassignment MUST NOT complete while a node that it adds is alive and replicates nothing: that node is not in
    sync and does not lead, those of before hold the partition and acknowledge acks=all. Once it replicates the
    reassignment MUST complete, with everything that was acknowledged.
    """
    one, other, added = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [one, other], **ALONE)
    all_in_sync(wire, topic)
    wire.produce(topic, batch("before")).must_be_at(0)
    with apart(nodes, added, "brokers"):
        reassign(wire, {topic: [added, other]}, to=wire.controller)
        for number in range(LOOKS):
            wire.rest(BETWEEN_S)
            row = shown_by(wire, topic, rng.choice(wire.nodes))
            wire.must(
                row.leader_id in (one, other) and added not in row.isr_nodes and {one, other} <= {*row.replica_nodes},
                f"node {row.leader_id} leads, in sync {row.isr_nodes}, of replicas {row.replica_nodes}; "
                f"node {added} replicates nothing, and nodes {one} and {other} hold it",
            )
            wire.produce(topic, batch(f"{number}")).must_be_at(number + 1)
        moving, answer = on_the_move(wire, wire.controller)
        answer.must(topic in moving, f"{topic} is not on the move, and node {added} replicates nothing")
    wire.until(
        lambda: {*shown_by(wire, topic, other).replica_nodes} == {added, other},
        within=WITHIN_S,
        what=f"{topic} is held by nodes {added} and {other}",
    )
    all_in_sync(wire, topic)
    lead_in_this_order(wire, topic, [added, other])
    wire.refresh_metadata(topic)
    wire.read_all(topic).must_hold("before", *(f"{number}" for number in range(LOOKS)))


@case(
    "partition/called-off-where-unclean-is-allowed",
    guarantees=["adm-014", "repl-005", "repl-001"],
    needs=NEEDS,
    apis={"CreateTopics": 5, "AlterPartitionReassignments": 0},
    detects=["J12"],
)
def cancelling_elects_nobody_who_lacks_something(wire, nodes, rng):
    """When a reassignment is cancelled the leader MUST lead on, and a replica that is not in sync MUST NOT lead, though
    the topic allows unclean elections and that one is alive and the first of those that stay: everything that was
    acknowledged MUST be there.

    Neither the other replica nor the node that is to be added gets anything from the leader, which is alone in sync.
    """
    leader, lagging, added = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [leader, lagging], **ALONE, **{"unclean.leader.election.enable": "true"})
    all_in_sync(wire, topic)
    wire.produce(topic, batch("on both")).must_be_at(0)
    with apart(nodes, leader, "brokers"):
        wire.produce(topic, batch("on one"), acks=1, to=leader).must_be_at(1)
        wire.until(
            lambda: not is_in_sync(wire, topic, lagging, leader), within=WITHIN_S, what=f"node {lagging} is not in sync"
        )
        wire.produce(topic, batch("acknowledged")).must_be_at(2)
        reassign(wire, {topic: [lagging, added]}, to=wire.controller)
        rows = [{"name": topic, "partitions": [{"partition_index": 0, "replicas": None}]}]
        called_off = request("AlterPartitionReassignments", timeout_ms=10_000, topics=rows)
        wire.ask(called_off, to=wire.controller).must_succeed()
        for number in range(LOOKS):
            row = shown_by(wire, topic, wire.nodes[number % len(wire.nodes)])
            wire.must(
                row.leader_id == leader and row.isr_nodes == [leader],
                f"node {row.leader_id} leads, in sync {row.isr_nodes}; node {leader} alone has what was acknowledged",
            )
            wire.rest(BETWEEN_S / LOOKS)
    all_in_sync(wire, topic)
    wire.refresh_metadata(topic)
    wire.read_all(topic).must_hold("on both", "on one", "acknowledged")
