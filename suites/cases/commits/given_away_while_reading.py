"""A coordinator that takes groups over, and gives others away at the same moment."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.commits._much_committed import PARTITIONS, MuchCommitted
from brokertrial.suites.cases.replication._handing_over import APIS as MOVES
from brokertrial.suites.cases.replication._handing_over import _are_in_order, _first, _shown
from brokertrial.suites.probe.coordinator_writes import OFFSETS_TOPIC
from brokertrial.suites.probe.preferred_leaders import await_leaders
from brokertrial.wire.messages import request

TIMES, TURNS, WITHIN_S = 40, 3, 60


@case(
    "commits/given-away-while-others-are-read",
    guarantees=["cmt-002", "cmt-017"],
    apis={"OffsetCommit": 2, "OffsetFetch": 2, **MOVES},
    needs=["started", "three-nodes", "leaders", "partitions"],
    detects=["B365"],
)
def who_gives_groups_away_reads_the_others_to_the_end(wire, topic_of, nodes, rng):
    """A coordinator that gives groups away while it still reads what it has taken over MUST come to an end of reading,
    and return the last committed offsets of each group that it has, and so MUST those who took over from it.

    Six groups of 48 partitions, each committed 40 times. Three times what one node coordinates goes to a second, and
    what that one did to the third, in two elections that follow each other at once.
    """
    committed = MuchCommitted(wire, topic_of(partitions=PARTITIONS))
    committed.commit(TIMES)
    for _ in range(TURNS):
        one = nodes.of_group(rng.choice(list(committed.times)))
        two, three = rng.sample([node for node in wire.nodes if node != one], 2)
        _hand_on(wire, {one: two, two: three})
        for group in committed.times:
            wire.forget_coordinator(group)
            committed.must_be_returned(group)
            committed.commit_of(group)
            committed.must_be_returned(group)


def _hand_on(wire, moves):
    """What each of these nodes leads of the offsets topic is led by the other then, in this order."""
    rows = {node: [row for row in _shown(wire, OFFSETS_TOPIC) if row.leader_id == node] for node in moves}
    if any(len(row.replica_nodes) != len(wire.nodes) for led in rows.values() for row in led):
        wire.not_applicable(f"{OFFSETS_TOPIC} is not on each node")
    orders = {row.partition_index: _first(moves[node], row.replica_nodes) for node, led in rows.items() for row in led}
    parts = [{"partition_index": index, "replicas": order} for index, order in orders.items()]
    asked = request(
        "AlterPartitionReassignments", timeout_ms=10_000, topics=[{"name": OFFSETS_TOPIC, "partitions": parts}]
    )
    wire.ask(asked, to=wire.controller).must_succeed()
    wire.until(
        lambda: _are_in_order(wire, OFFSETS_TOPIC, orders),
        within=WITHIN_S,
        what=f"the replicas of {OFFSETS_TOPIC} are in their new order",
    )
    elections = []
    for led in rows.values():
        places = [{"topic": OFFSETS_TOPIC, "partitions": [row.partition_index for row in led]}]
        elect = request("ElectLeaders", topic_partitions=places, timeout_ms=10_000)
        elections.append(wire.ask(elect, to=wire.controller(), wait=False))
    for election in elections:
        election.examined = True  # who leads already is answered so
    await_leaders(wire)
