"""Throttles of replication (KIP-73): a partition that is moved takes no more than the rate that is set."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import on_the_move, partition, placed, reassign
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import BROKER, DELETE, SET, TOPIC

LEADER, FOLLOWER = "leader", "follower"
RATE, REPLICAS = "{}.replication.throttled.rate", "{}.replication.throttled.replicas"
LOW = 20_000
BATCHES, SIZE = 5, 700_000
"""Far more than comes before a rate is measured: what a follower fetches of a partition in one request, 1 MiB."""
STAYS_S, MEASURED_S, WITHIN_S = 3, 9, 30
"""Kafka measures over eleven seconds; then as much as at first may come again."""
ALL = ""


@case(
    "replication/moves-as-slowly-as-throttled",
    guarantees=["adm-010", "adm-014"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "settings", "started"],
    apis={"AlterPartitionReassignments": 0, "ListPartitionReassignments": 0, "IncrementalAlterConfigs": 0},
    detects=["B136", "B137", "B138"],
)
def a_move_takes_as_long_as_its_throttle_says(wire, rng):
    """A partition that is reassigned MUST come to its new node no faster than leader.replication.throttled.rate of its
    leader or follower.replication.throttled.rate of the new node, where its topic names that replica in the setting of
    the same side, whether the rate is set for all brokers or for each. Another topic MUST NOT wait for it, and once the
    rate or the replicas are taken away the reassignment MUST complete.

    3.5 MB at 20 kB a second, at each side; another topic of the same nodes is moved in the same request.
    """
    sides = rng.sample((LEADER, FOLLOWER), 2)
    for side, for_all in ((sides[0], True), (sides[1], False), (sides[1], True)):
        with wire.part(f"{side}, set for {'all brokers' if for_all else 'each broker'}"):
            _moved_under(wire, rng, side, for_all)


def _moved_under(wire, rng, side, for_all):
    leads, comes = rng.sample(list(wire.nodes), 2)
    acts = leads if side == LEADER else comes
    rate, replicas = RATE.format(side), REPLICAS.format(side)
    slow, other = (placed(wire, what, [leads]) for what in ("slow", "other"))
    for topic in (slow, other):
        for value in range(BATCHES):
            wire.produce(topic, batch(str(value) * SIZE), acks=1).must_be_at(value)
    names = [ALL] if for_all else [str(node) for node in wire.nodes]
    wire.change_configs(TOPIC, slow, [(replicas, SET, rng.choice(("*", f"0:{acts}")))]).must_succeed()
    try:
        for name in names:
            _set(wire, name, rate, str(LOW))
        wire.rest(1)
        _must_wait(wire, slow, other, comes)
        if rng.random() < 0.5:
            for name in names:
                _set(wire, name, rate, None)
        else:
            wire.change_configs(TOPIC, slow, [(replicas, DELETE, None)]).must_succeed()
        _must_arrive(wire, slow, comes)
    finally:
        for name in names:
            _set(wire, name, rate, None)


def _must_wait(wire, slow, other, comes):
    """The other topic arrives; the throttled one does not for some seconds."""
    began = wire.now_ms()
    reassign(wire, {slow: [comes], other: [comes]}, wire.controller())
    _must_arrive(wire, other, comes)
    wire.rest(STAYS_S)
    row = partition(wire, slow)
    took_s = (wire.now_ms() - began) / 1000
    if took_s > MEASURED_S:
        wire.unclear(f"{took_s:.0f} s went by until it was looked at")
    wire.must(comes not in row.isr_nodes, f"{BATCHES * SIZE} bytes came within {took_s:.1f} s, at {LOW} bytes a second")
    found, listed = on_the_move(wire, wire.controller())
    listed.must(found == [slow], f"{found} are listed as on the move; it must be {slow} alone", "topics")


def _must_arrive(wire, topic, comes):
    wire.until(
        lambda: partition(wire, topic).isr_nodes == [comes] == partition(wire, topic).replica_nodes,
        within=WITHIN_S,
        what=f"{topic} is on node {comes}, which nothing holds back",
    )


def _set(wire, name, setting, value):
    """At the broker itself, or for all of them."""
    change = (setting, DELETE if value is None else SET, value)
    to = int(name) if name else None
    wire.change_configs(BROKER, name, [change], to=to).must_succeed()
