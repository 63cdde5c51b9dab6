"""A single leader goes back to the first replica by itself (auto.leader.rebalance.enable)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, partition, placed
from brokertrial.suites.probe import batch
from brokertrial.wire.messages import request

ALONE = {"min.insync.replicas": "1"}
ENABLED, INTERVAL = "auto.leader.rebalance.enable", "leader.imbalance.check.interval.seconds"
TURNS = 3


@case(
    "replication/preferred-leader-of-one-partition",
    guarantees=["repl-017", "adm-014"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings"],
    apis={"AlterPartitionReassignments": 0, "DescribeConfigs": 1},
    features={"metadata.version": 1},
    detects=["B278"],
)
def one_that_is_away_comes_back(wire, rng):
    """Where brokers see to it that the first replica leads, it MUST come to lead a partition whose replicas were given
    another order, though it is the only one that somebody else leads. KRaft gives back each; no share of them is
    tolerated, as with ZooKeeper (leader.imbalance.per.broker.percentage).

    One partition on three nodes, given another order three times.
    """
    if wire.setting(ENABLED) != "true":
        wire.not_applicable(f"{ENABLED} is {wire.setting(ENABLED)} on this cluster", "cluster-setting")
    wire.needs_setting(INTERVAL, at_most=10)
    order = rng.sample(list(wire.nodes), 3)
    topic = placed(wire, "turned", order, **ALONE)
    for turn in range(TURNS):
        order = [*order[1:], order[0]]
        row = {"name": topic, "partitions": [{"partition_index": 0, "replicas": order}]}
        wire.ask(request("AlterPartitionReassignments", timeout_ms=10_000, topics=[row])).must_succeed()
        wire.eventually(lambda order=order: _must_be_led(wire, topic, order), within=WITHIN_S)
        wire.refresh_metadata(topic)
        wire.produce(topic, batch("a")).must_be_at(turn)


def _must_be_led(wire, topic, order):
    row = partition(wire, topic)
    wire.must(
        [*row.replica_nodes] == order and row.leader_id == order[0],
        f"it is on {[*row.replica_nodes]} and led by {row.leader_id}, in sync are {row.isr_nodes}; it was placed on "
        f"{order}, and {order[0]} must come to lead",
    )
