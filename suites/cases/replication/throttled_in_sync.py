"""Throttles of replication (KIP-73) hold back who catches up, and no others."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import all_in_sync, partition, placed, reassign
from brokertrial.suites.cases.replication.throttled_moves import ALL, FOLLOWER, LEADER, RATE, REPLICAS
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import BROKER, DELETE, SET, TOPIC

LOW, SIZE = 20_000, 700_000
"""One batch is half a minute of the rate."""
BEFORE, AFTER = 3, 3
TIMEOUT_MS, WITHIN_S = 15_000, 30
BOTH_NEEDED = {"min.insync.replicas": "2"}


@case(
    "replication/throttled-but-in-sync",
    guarantees=["adm-010", "repl-004", "prod-010"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "settings"],
    apis={"AlterPartitionReassignments": 0, "IncrementalAlterConfigs": 0},
    detects=["B182"],
)
def who_is_in_sync_is_not_held_back(wire, rng):
    """While a partition is throttled, at its leader, its followers or both, and a replica is added to it, what is
    written to it MUST be replicated to those in sync as if there was no throttle: acks=all is acknowledged, and they
    stay in sync. Once the throttle is taken away, the new replica MUST be in sync, too.

    Each batch is half a minute of the rate that is set.
    """
    for sides in rng.sample(((LEADER,), (FOLLOWER,), (LEADER, FOLLOWER)), 3):
        with wire.part(" and ".join(sides)):
            _written_under(wire, rng, sides)


def _written_under(wire, rng, sides):
    leads, follows, comes = rng.sample(list(wire.nodes), 3)
    topic = placed(wire, "t", [leads, follows], **BOTH_NEEDED)
    all_in_sync(wire, topic)
    for number in range(BEFORE):
        wire.produce(topic, batch(str(number) * SIZE)).must_be_at(number)
    named = rng.choice(("*", ",".join(f"0:{node}" for node in wire.nodes)))
    wire.change_configs(TOPIC, topic, [(REPLICAS.format(side), SET, named) for side in sides]).must_succeed()
    try:
        _set(wire, [(RATE.format(side), SET, str(LOW)) for side in sides])
        wire.rest(1)
        reassign(wire, {topic: [leads, follows, comes]}, wire.controller())
        for number in range(BEFORE, BEFORE + AFTER):
            written = batch(str(number) * SIZE)
            with wire.the_subject():
                wire.produce(topic, written, timeout_ms=TIMEOUT_MS).must_be_at(number)
        isr = partition(wire, topic).isr_nodes
        wire.must({leads, follows} <= {*isr}, f"in sync are {isr}; nodes {leads} and {follows} have everything")
    finally:
        _set(wire, [(RATE.format(side), DELETE, None) for side in sides])
    wire.until(
        lambda: {*partition(wire, topic).isr_nodes} == {leads, follows, comes},
        within=WITHIN_S,
        what=f"node {comes}, which nothing holds back, is in sync",
    )


def _set(wire, changes):
    wire.change_configs(BROKER, ALL, changes).must_succeed()
