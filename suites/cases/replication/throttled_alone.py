"""Which partitions a throttle of replication holds back (KIP-73): those of its list, however it is written."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S
from brokertrial.suites.cases.replication.throttled_moves import FOLLOWER, LEADER, LOW, RATE, REPLICAS, _set
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import DELETE, SET, TOPIC
from brokertrial.wire.messages import request

PARTITIONS, BATCHES, SIZE = 12, 5, 700_000
STAYS_S, MEASURED_S = 3, 9
FREE, HELD = 1, 11
"""One number is a part of the other as it is written."""


@case(
    "replication/throttled-are-those-that-are-named",
    guarantees=["adm-010", "adm-014"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "settings", "started"],
    apis={"AlterPartitionReassignments": 0, "IncrementalAlterConfigs": 0, "CreateTopics": 5},
    detects=["B197"],
)
def what_is_not_in_the_list_is_not_held_back(wire, rng):
    """Of a topic whose setting names some of its replicas as throttled, those partitions alone MUST be held to the
    rate: another one that is reassigned at the same time MUST arrive, and the throttled one too, once it is not any
    more.

    3.5 MB each in partitions 1 and 11 of twelve, of which 10 and 11 are throttled; at each side, in either order.
    """
    for side in rng.sample((LEADER, FOLLOWER), 2):
        with wire.part(side):
            _moved_under(wire, rng, side)


def _moved_under(wire, rng, side):
    leads, comes = rng.sample(list(wire.nodes), 2)
    acts = leads if side == LEADER else comes
    rate, replicas = RATE.format(side), REPLICAS.format(side)
    topic = _of_many(wire, side, leads)
    for value in range(BATCHES):
        for index in (FREE, HELD):
            wire.produce(topic, batch(str(value) * SIZE), index, acks=1).must_be_at(value)
    named = [f"{index}:{acts}" for index in rng.sample((HELD - 1, HELD), 2)]
    wire.change_configs(TOPIC, topic, [(replicas, SET, ",".join(named))]).must_succeed()
    try:
        for node in wire.nodes:
            _set(wire, str(node), rate, str(LOW))
        wire.rest(1)
        _must_be_held_alone(wire, topic, comes, named)
        wire.change_configs(TOPIC, topic, [(replicas, DELETE, None)]).must_succeed()
        _must_arrive(wire, topic, HELD, comes, "nothing is throttled any more")
    finally:
        for node in wire.nodes:
            _set(wire, str(node), rate, None)


def _of_many(wire, what, leads):
    topic = wire.name(what)
    on = {index: [leads] for index in range(PARTITIONS)}
    wire.create_topic(topic, partitions=-1, assignments=on, configs={"min.insync.replicas": "1"}).must_succeed()
    wire.await_topic(topic)
    return topic


def _must_be_held_alone(wire, topic, comes, named):
    began = wire.now_ms()
    parts = [{"partition_index": index, "replicas": [comes]} for index in (FREE, HELD)]
    asked = request("AlterPartitionReassignments", timeout_ms=10_000, topics=[{"name": topic, "partitions": parts}])
    wire.ask(asked, to=wire.controller()).must_succeed()
    _must_arrive(wire, topic, FREE, comes, f"throttled are {named} alone")
    wire.rest(STAYS_S)
    row = _row(wire, topic, HELD)
    took_s = (wire.now_ms() - began) / 1000
    if took_s > MEASURED_S:
        wire.unclear(f"{took_s:.0f} s went by until it was looked at")
    size = BATCHES * SIZE
    wire.must(comes not in row.isr_nodes, f"{size} bytes came within {took_s:.1f} s, at {LOW} bytes a second")


def _must_arrive(wire, topic, index, comes, because):
    wire.until(
        lambda: _row(wire, topic, index).isr_nodes == [comes] == _row(wire, topic, index).replica_nodes,
        within=WITHIN_S,
        what=f"partition {index} is on node {comes}: {because}",
    )


def _row(wire, topic, index):
    return next(row for row in wire.refresh_metadata(topic).topics[0].partitions if row.partition_index == index)
