"""Reassignments that are called off while no replica is in sync but one of those that were to be added."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import NO_NODE, WITHIN_S, placed, reassign
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.messages import request

ALONE, ALLOWED = {"min.insync.replicas": "1"}, {"unclean.leader.election.enable": "true"}
PATIENT = {"broker.session.timeout.ms": "120000"}
"""A node that is paused is not taken for dead meanwhile."""
PREFERRED = 0


@case(
    "replication/called-off-needs-a-replica-in-sync",
    guarantees=["adm-019", "repl-002", "repl-006"],
    needs=["chosen-settings", "three-nodes", "leaders", "topic-settings", "pause", "terminate", "restart", "started"],
    apis={"AlterPartitionReassignments": 0, "ElectLeaders": 1},
    detects=["D65"],
)
def what_would_lose_records_is_refused(wire, nodes, rng):
    """To call a reassignment off MUST be refused with INVALID_REPLICA_ASSIGNMENT (39) while none of the replicas that
    would stay is in sync, for it would need an unclean leader election: the partition MUST stay as it is, and move on
    with every record once its leader answers. Where its topic allows such an election it MUST be accepted, and one of
    those that stay MUST lead, in a higher epoch.

    From one node to two others, of which one is away and the other leads. That one is paused, the first is started
    anew, and finds no leader to be in sync with.
    """
    nodes.start_with(PATIENT)
    stays, comes, away = rng.sample(list(wire.nodes), 3)
    refuses, allows = placed(wire, "refuses", [stays], **ALONE), placed(wire, "allows", [stays], **ALONE, **ALLOWED)
    nodes.terminate(away)
    for topic in (refuses, allows):
        wire.produce(topic, batch("a")).must_be_at(0)
        reassign(wire, {topic: [comes, away]}, stays)
        wire.until(lambda at=topic: _is_led(wire, at, stays, comes), within=WITHIN_S, what=f"{comes} leads {topic}")
        wire.produce(topic, batch("b")).must_be_at(1)
    nodes.pause(comes)
    nodes.start(away)
    nodes.terminate(stays)
    nodes.start(stays)
    before = {}
    for topic in (refuses, allows):
        row = before[topic] = _row(wire, topic, stays)
        if [*row.isr_nodes] != [comes]:
            wire.unclear(f"{[*row.isr_nodes]} are in sync with {topic}, and it was to be {comes} alone")

    for topic, wanted in ((refuses, errors.INVALID_REPLICA_ASSIGNMENT), (allows, errors.NONE)):
        answer = _called_off(wire, topic, stays)
        answer.must(
            _code(answer) == wanted,
            f"{comes} alone is in sync, and to go back to {stays} is answered {_code(answer)}; it must be {wanted}",
            "responses",
        )
    row = _row(wire, refuses, stays)
    wire.must(
        (row.replica_nodes, row.isr_nodes) == (before[refuses].replica_nodes, [comes]),
        f"it was refused, and the partition is on {row.replica_nodes} now, in sync on {row.isr_nodes}",
    )
    wire.eventually(lambda: _must_be_led(wire, allows, stays, before[allows].leader_epoch), within=WITHIN_S)
    nodes.resume(comes)
    wire.await_topic(refuses)
    wire.eventually(lambda: _must_be_on(wire, refuses, stays, {comes, away}), within=WITHIN_S)
    for topic in (refuses, allows):
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


def _called_off(wire, topic, node):
    rows = [{"name": topic, "partitions": [{"partition_index": 0, "replicas": None}]}]
    return wire.ask(request("AlterPartitionReassignments", timeout_ms=10_000, topics=rows), to=node)


def _code(answer):
    return answer.struct.error_code or answer.struct.responses[0].partitions[0].error_code


def _must_be_led(wire, topic, node, epoch):
    row = _row(wire, topic, node)
    wire.must(
        row.leader_id == node and [*row.replica_nodes] == [node] and row.leader_epoch > epoch,
        f"it is on {row.replica_nodes}, led by {row.leader_id if row.leader_id != NO_NODE else 'no node'} in epoch "
        f"{row.leader_epoch}; {node} must hold and lead it, in a higher epoch than {epoch}",
    )


def _must_be_on(wire, topic, asked, wanted):
    row = _row(wire, topic, asked)
    wire.must(
        {*row.replica_nodes} == {*row.isr_nodes} == wanted and row.leader_id in wanted,
        f"it is on {row.replica_nodes}, in sync on {row.isr_nodes}, led by {row.leader_id}; it must move to {wanted}",
    )
