"""Coordinators go back to their first replicas by themselves, as other leaders do (auto.leader.rebalance.enable)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S
from brokertrial.suites.probe.internal_topics import partitions_shown

ENABLED, INTERVAL = "auto.leader.rebalance.enable", "leader.imbalance.check.interval.seconds"
INTERNAL = ("__consumer_offsets", "__transaction_state")


@case(
    "replication/coordinators-go-back-too",
    guarantees=["repl-017", "grp-016"],
    needs=["three-nodes", "leaders", "kill", "restart"],
    apis={"Metadata": 1, "DescribeConfigs": 1},
    detects=["B71"],
)
def the_first_replica_coordinates_again(wire, nodes, rng):
    """Where brokers see to it that the first replica leads, it MUST come to lead the partitions of the topics that
    coordinators write to as well, after its node was away, with nobody asking for an election.
    """
    if wire.setting(ENABLED) != "true":
        wire.not_applicable(f"{ENABLED} is {wire.setting(ENABLED)} on this cluster", "cluster-setting")
    wire.needs_setting(INTERVAL, at_most=10)
    wire.coordinator(wire.name("g"))
    wire.coordinator(wire.name("x"), 1)
    for topic in INTERNAL:
        partitions_shown(wire, topic)
    away = rng.choice(wire.nodes)
    nodes.kill(away)
    for topic in INTERNAL:
        wire.until(lambda of=topic: away not in _leaders(wire, of), within=WITHIN_S, what=f"others lead {topic}")
    nodes.start(away)
    for topic in INTERNAL:
        wire.eventually(lambda of=topic: _must_be_led_by_the_first(wire, of), within=WITHIN_S)


def _rows(wire, topic):
    return wire.metadata(topic).must_succeed().struct.topics[0].partitions


def _leaders(wire, topic):
    return {row.leader_id for row in _rows(wire, topic)}


def _must_be_led_by_the_first(wire, topic):
    rows = _rows(wire, topic)
    wrong = {row.partition_index: row.leader_id for row in rows if row.leader_id != row.replica_nodes[0]}
    wire.must(not wrong, f"of {topic} these are not led by their first replicas, by partition: {wrong}")
