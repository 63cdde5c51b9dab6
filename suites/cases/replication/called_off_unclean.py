"""Reassignments that are called off while no replica is in sync but one of those that were to be added."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, placed, reassign
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.messages import request

ALONE = {"min.insync.replicas": "1"}
PATIENT = {"broker.session.timeout.ms": "18000"}
"""So long a paused node is not taken for dead; where a stop waits until each node has heard of it, it takes as long."""
PREFERRED = 0


@case(
    "replication/called-off-needs-a-replica-in-sync",
    guarantees=["adm-019", "repl-002", "repl-005"],
    needs=["chosen-settings", "three-nodes", "leaders", "topic-settings", "pause", "terminate", "restart", "started"],
    apis={"AlterPartitionReassignments": 0, "ElectLeaders": 1},
    detects=["D65"],
)
def what_would_lose_records_is_refused(wire, nodes, rng):
    """To call a reassignment off MUST be refused with INVALID_REPLICA_ASSIGNMENT (39) while none of the replicas that
    would stay is in sync, for it would need an unclean leader election: the partition MUST stay as it is, and move on
    with every record once its leader answers.

    From one node to two others, of which one is away and the other leads. That one is paused, the first is started
    anew, and finds no leader to be in sync with.
    """
    nodes.start_with(PATIENT)
    stays, comes, away = rng.sample(list(wire.nodes), 3)
    topic = placed(wire, "moved", [stays], **ALONE)
    nodes.terminate(away)
    wire.produce(topic, batch("a")).must_be_at(0)
    reassign(wire, {topic: [comes, away]}, stays)
    wire.until(lambda: _is_led(wire, topic, stays, comes), within=WITHIN_S, what=f"{comes} leads")
    wire.produce(topic, batch("b")).must_be_at(1)
    nodes.pause(comes)
    nodes.start(away)
    nodes.terminate(stays)
    nodes.start(stays)
    before = _row(wire, topic, stays)
    if {stays, away} & {*before.isr_nodes}:
        wire.unclear(f"{[*before.isr_nodes]} are in sync, and it was to be {comes} alone")

    rows = [{"name": topic, "partitions": [{"partition_index": 0, "replicas": None}]}]
    answer = wire.ask(request("AlterPartitionReassignments", timeout_ms=10_000, topics=rows), to=stays)
    code = answer.struct.error_code or answer.struct.responses[0].partitions[0].error_code
    answer.must(
        code == errors.INVALID_REPLICA_ASSIGNMENT,
        f"what would stay, {stays}, is not in sync, and that it shall stay is answered {code}; it must be 39",
        "responses",
    )
    row = _row(wire, topic, stays)
    wire.must(
        (row.replica_nodes, row.isr_nodes) == (before.replica_nodes, before.isr_nodes),
        f"it was refused, and the partition is on {row.replica_nodes} now, in sync on {row.isr_nodes}",
    )
    nodes.resume(comes)
    wire.eventually(lambda: _must_be_on(wire, topic, stays, {comes, away}), within=WITHIN_S)
    wire.await_topic(topic)
    wire.produce(topic, batch("c")).must_be_at(2)
    wire.read_all(topic).must_hold("a", "b", "c")


def _row(wire, topic, node):
    """As this node shows it; it may have no leader."""
    return wire.metadata(topic, to=node).struct.topics[0].partitions[0]


def _is_led(wire, topic, asked, node):
    """It is given leadership, as the first of the replicas, once it is in sync."""
    row = _row(wire, topic, asked)
    if node in row.isr_nodes and row.leader_id != node:
        rows = [{"topic": topic, "partitions": [0]}]
        elect = request("ElectLeaders", election_type=PREFERRED, topic_partitions=rows, timeout_ms=10_000)
        _ = wire.ask(elect, to=asked, may_take_s=10).struct  # whatever became of it shows
    return row.leader_id == node


def _must_be_on(wire, topic, asked, wanted):
    row = _row(wire, topic, asked)
    wire.must(
        {*row.replica_nodes} == {*row.isr_nodes} == wanted and row.leader_id in wanted,
        f"it is on {row.replica_nodes}, in sync on {row.isr_nodes}, led by {row.leader_id}; it must move to {wanted}",
    )
