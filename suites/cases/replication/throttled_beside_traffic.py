"""What counts towards a throttle of replication (KIP-73): replicas that it names, and no other traffic."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import all_in_sync, partition, placed, reassign
from brokertrial.suites.cases.replication.throttled_moves import FOLLOWER, LEADER, LOW, RATE, REPLICAS, _set
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import SET, TOPIC

ALONE = {"min.insync.replicas": "1"}
TRAFFIC, ROUNDS, EACH_S, WITHIN_S = 300_000, 8, 0.25, 30
"""Bytes of another partition of the same nodes, how often they are written before the move, and the pause after."""


@case(
    "replication/only-what-is-throttled-counts",
    guarantees=["adm-010", "adm-014"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "settings", "started"],
    apis={"AlterPartitionReassignments": 0, "IncrementalAlterConfigs": 0},
    detects=["B347"],
)
def other_traffic_takes_nothing_of_the_rate(wire, rng):
    """A partition that is throttled and has little to copy MUST come to its new node though the same two nodes
    replicate far more than the rate of a partition that is not throttled, at each side: that MUST NOT count.

    A few bytes at 20 kB a second, beside 1.2 MB a second.
    """
    for side in rng.sample((LEADER, FOLLOWER), 2):
        with wire.part(side):
            _moved_beside_traffic(wire, rng, side)


def _moved_beside_traffic(wire, rng, side):
    leader, comes = rng.sample(list(wire.nodes), 2)
    acts, rate = str(leader if side == LEADER else comes), RATE.format(side)
    slow = placed(wire, f"slow {side}", [leader], **ALONE)
    busy = placed(wire, f"busy {side}", [leader, comes], **ALONE)
    all_in_sync(wire, busy)
    wire.produce(slow, batch("a")).must_be_at(0)
    wire.change_configs(TOPIC, slow, [(REPLICAS.format(side), SET, "*")]).must_succeed()
    made = batch("x" * TRAFFIC)
    try:
        _set(wire, acts, rate, str(LOW))
        for _ in range(ROUNDS):
            wire.produce(busy, made).must_succeed()
            wire.rest(EACH_S)
        reassign(wire, {slow: [leader, comes]}, wire.controller())

        def arrives():
            wire.produce(busy, made).must_succeed()
            in_sync = partition(wire, slow).isr_nodes
            wire.must(comes in in_sync, f"in sync are {in_sync}; node {comes} has a few bytes to copy")

        wire.eventually(arrives, within=WITHIN_S)
    finally:
        _set(wire, acts, rate, None)
