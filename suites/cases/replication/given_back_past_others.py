"""First replicas lead again by themselves while others of the same node lag behind (auto.leader.rebalance.enable)."""

from functools import partial

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, partition, placed
from brokertrial.suites.cases.replication.preferred_of_one import ENABLED, INTERVAL
from brokertrial.suites.cases.replication.throttled_moves import BATCHES, LEADER, LOW, RATE, REPLICAS, SIZE, _set
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import DELETE, SET, TOPIC

ALONE = {"min.insync.replicas": "1"}
TOPICS, HELD = 6, (0, 3, 5)
"""The first, the last and one between them, in the order in which they are made."""


@case(
    "replication/given-back-past-those-that-lag",
    guarantees=["repl-017", "adm-010"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "settings", "started", "terminate", "restart"],
    apis={"IncrementalAlterConfigs": 0, "DescribeConfigs": 1},
    features={"metadata.version": 1},
    detects=["B340"],
)
def those_that_are_in_sync_are_led(wire, nodes, rng):
    """Where brokers see to it that the first replica leads, a node that is back MUST come to lead the partitions in
    which it is in sync again, though there are others, before, between and behind them, in which it is not; and these
    too once it is.

    Six topics; 3.5 MB were written to each of three while the node was away, and are copied at 20 kB a second.
    """
    if wire.setting(ENABLED) != "true":
        wire.not_applicable(f"{ENABLED} is {wire.setting(ENABLED)} on this cluster", "cluster-setting")
    wire.needs_setting(INTERVAL, at_most=10)
    first, second = rng.sample(list(wire.nodes), 2)
    topics = [placed(wire, f"t{number}", [first, second], **ALONE) for number in range(TOPICS)]
    for topic in topics:
        all_in_sync(wire, topic)
    held = [topics[number] for number in HELD]
    nodes.terminate(first)
    for topic in topics:
        wire.until(partial(_is_led, wire, topic, second), within=WITHIN_S, what=f"node {second} leads {topic}")
        for value in range(BATCHES if topic in held else 1):
            wire.produce(topic, batch(str(value) * SIZE), acks=1).must_be_at(value)
    for topic in held:
        wire.change_configs(TOPIC, topic, [(REPLICAS.format(LEADER), SET, "*")]).must_succeed()
    rate = RATE.format(LEADER)
    try:
        _set(wire, str(second), rate, str(LOW))
        nodes.start(first)
        for topic in topics:
            if topic not in held:
                wire.eventually(partial(_must_be_led, wire, topic, first), within=WITHIN_S)
        for topic in held:
            wire.change_configs(TOPIC, topic, [(REPLICAS.format(LEADER), DELETE, None)]).must_succeed()
    finally:
        _set(wire, str(second), rate, None)
    for topic in held:
        wire.eventually(partial(_must_be_led, wire, topic, first), within=WITHIN_S)


def _is_led(wire, topic, node):
    return partition(wire, topic).leader_id == node


def _must_be_led(wire, topic, first):
    row = partition(wire, topic)
    said = f"{topic} is led by {row.leader_id}, in sync are {row.isr_nodes}; node {first} must come to lead it"
    wire.must(row.leader_id == first, said)
