"""What may be asked of a topic that is on the move: more partitions, an election, another order of its replicas."""

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
from brokertrial.wire.messages import request

ALONE = {"min.insync.replicas": "1"}
PREFERRED, UNCLEAN = 0, 1


@case(
    "replication/grown-while-moved",
    guarantees=["adm-007", "adm-014"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    apis={"AlterPartitionReassignments": 0, "ListPartitionReassignments": 0, "CreatePartitions": 0},
    detects=["Z38"],
)
def a_topic_on_the_move_may_grow(wire, nodes, rng):
    """CreatePartitions MUST add partitions to a topic of which one is being reassigned, and to another beside it; the
    new ones MUST take records, and the reassignment goes on: it MUST complete once its node is there.

    It is on its way to a node that is dead, and then comes back.
    """
    asked = wire.controller()
    dead = rng.choice([node for node in wire.nodes if node != asked])
    stays = rng.choice([node for node in wire.nodes if node != dead])
    moving, beside = (placed(wire, what, [stays], **ALONE) for what in ("moving", "beside"))
    nodes.kill(dead)
    reassign(wire, {moving: [dead]}, asked)  # at once: once it is known to be dead, some refuse that
    wire.until(lambda: dead not in _brokers(wire, asked), within=WITHIN_S, what=f"node {dead} is known to be dead")
    for topic in (moving, beside):
        answer = wire.create_partitions(topic, 3)
        answer.must(not answer.error, f"{topic} may not grow while {moving} is on the move", "results")
        for number in (1, 2):
            wire.eventually(lambda at=topic, of=number: _must_be_led(wire, at, of), within=WITHIN_S)
            wire.produce(topic, batch("a"), number).must_be_at(0)
    found, listed = on_the_move(wire, asked)
    listed.must(found == [moving], f"{found} are listed as on the move; it must be {moving} alone", "topics")
    nodes.start(dead)
    wire.until(lambda: _is_held_by(wire, moving, dead), within=WITHIN_S, what=f"{moving}-0 is on node {dead} alone")
    wire.produce(moving, batch("b")).must_be_at(0)


def _is_held_by(wire, topic, node):
    """Of several partitions, which may be named in any order, the first one."""
    rows = wire.refresh_metadata(topic).topics[0].partitions
    row = next(row for row in rows if row.partition_index == 0)
    return row.replica_nodes == row.isr_nodes == [node]


@case(
    "replication/no-unclean-election-beside-a-leader",
    guarantees=["adm-013", "adm-016"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings"],
    apis={"AlterPartitionReassignments": 0, "ElectLeaders": 1},
    detects=["Z37"],
)
def a_partition_with_a_leader_needs_no_unclean_election(wire, rng):
    """An unclean election MUST be refused with ELECTION_NOT_NEEDED (84) for a partition that has a leader, also where
    that is not its preferred replica; one of the preferred replica MUST then make that one lead, unless it does.
    """
    first, second, third = rng.sample(list(wire.nodes), 3)
    topic = placed(wire, "t", [first, second, third], **ALONE)
    all_in_sync(wire, topic)
    reassign(wire, {topic: [second, first, third]}, wire.controller)
    wire.until(
        lambda: partition(wire, topic).replica_nodes[0] == second, within=WITHIN_S, what="it has the other order"
    )
    code = _elected(wire, topic, UNCLEAN)
    wire.must(
        code == errors.ELECTION_NOT_NEEDED,
        f"an unclean election of a partition with a leader is answered {errors.name(code)} ({code}); it must be 84",
    )
    code = _elected(wire, topic, PREFERRED)
    wire.must(code in (0, errors.ELECTION_NOT_NEEDED), f"that of the preferred one is {errors.name(code)} ({code})")
    wire.until(lambda: partition(wire, topic).leader_id == second, within=WITHIN_S, what=f"{second} leads")


def _brokers(wire, node):
    return [row.node_id for row in wire.metadata(to=node).must_succeed().struct.brokers]


def _elected(wire, topic, kind):
    rows = [{"topic": topic, "partitions": [0]}]
    asked = request("ElectLeaders", election_type=kind, topic_partitions=rows, timeout_ms=20_000)
    answer = wire.ask(asked, to=wire.controller, may_take_s=20)
    return answer.struct.replica_election_results[0].partition_result[0].error_code


def _must_be_led(wire, topic, number):
    rows = {row.partition_index: row.leader_id for row in wire.refresh_metadata(topic).topics[0].partitions}
    wire.must(rows.get(number, -1) >= 0, f"the leaders of {topic} are {rows}; {number} must have one")
