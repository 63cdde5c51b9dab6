"""Records that DeleteRecords deleted everywhere: whichever replica has the partition alone later, they stay so."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import (
    WITHIN_S,
    all_in_sync,
    on_the_move,
    partition,
    placed,
    reassign,
)
from brokertrial.suites.probe import batch
from brokertrial.wire import errors

ALONE = {"min.insync.replicas": "1"}
RECORDS = 12


@case(
    "replication/deleted-stays-deleted-on-each",
    guarantees=["adm-011", "ret-003", "offs-001"],
    needs=["three-nodes", "leaders", "terminate", "restart", "topic-settings", "partitions"],
    apis={"DeleteRecords": 0, "AlterPartitionReassignments": 0, "ListPartitionReassignments": 0},
    detects=["B324"],
)
def a_follower_keeps_where_its_log_begins(wire, nodes, rng):
    """What DeleteRecords deleted at all replicas MUST stay deleted, and what it kept MUST stay, at whichever replica
    has the partition alone later, also after this one was stopped cleanly and started.

    Three topics, each with replicas on all nodes and cut at a drawn offset; each ends up on another node alone.
    """
    order = rng.sample(list(wire.nodes), 3)
    cuts = {placed(wire, f"t{number}", order, **ALONE): rng.randint(2, RECORDS - 2) for number in range(3)}
    for topic, cut in cuts.items():
        all_in_sync(wire, topic)
        for number in range(RECORDS):
            wire.produce(topic, batch(f"{number}")).must_be_at(number)
        wire.delete_records(topic, 0, offset=cut).must_succeed()
    for topic, keeper in zip(cuts, order, strict=True):
        reassign(wire, {topic: [keeper]}, to=order[0])
        wire.until(
            lambda at=(topic, keeper): _is_alone(wire, *at), within=WITHIN_S, what=f"{topic} is on {keeper} alone"
        )
        wire.await_topic(topic)
        _must_begin_at(wire, topic, cuts[topic])
    for topic, keeper in zip(cuts, order, strict=True):
        nodes.stop_and_start(keeper)
        for each in cuts:
            wire.await_topic(each)
        with wire.part(f"{topic} on node {keeper}"):
            _must_begin_at(wire, topic, cuts[topic])


def _is_alone(wire, topic, keeper):
    moving, _ = on_the_move(wire, wire.controller)
    found = partition(wire, topic)
    return topic not in moving and found.replica_nodes == [keeper] and found.leader_id == keeper


def _must_begin_at(wire, topic, cut):
    wire.list_offsets(topic, at="earliest").must_name(offset=cut)
    wire.fetch(topic, offset=cut - 1).must_be_refused(errors.OFFSET_OUT_OF_RANGE)
    wire.read_all(topic).must_hold(*(f"{number}" for number in range(cut, RECORDS)))
