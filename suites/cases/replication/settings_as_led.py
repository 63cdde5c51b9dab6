"""Settings of a topic that are altered while one replica leads, and hold when another does."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._led_in_turn import APIS, comes_to_lead
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import DELETE, SET, TOPIC
from brokertrial.wire import compression, errors

LARGE = "x" * 5_000
LIMIT, STAMPS, CODEC = "max.message.bytes", "message.timestamp.type", "compression.type"
ALTERED = {LIMIT: "2000", STAMPS: "LogAppendTime", CODEC: "gzip"}
TURNS = 3


@case(
    "replication/settings-wherever-it-is-led",
    guarantees=["adm-010"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "settings"],
    apis=APIS | {"IncrementalAlterConfigs": 0},
    detects=["J06"],
)
def each_leader_has_them(wire, rng):
    """What a topic's settings were altered to while one replica led MUST hold when another comes to lead, without a
    restart of it, both where they were set and where they were taken back: the limit on batches, the broker's times,
    the compression.

    Three replicas lead in turn. They are altered under each third leader, and two others come to lead before the next.
    """
    nodes = rng.sample(list(wire.nodes), 3)
    topic = placed(wire, "led-in-turn", nodes)
    all_in_sync(wire, topic)
    for turn in range(TURNS):
        altered = turn % 2 == 0
        how = SET if altered else DELETE
        changes = [(name, how, value if altered else None) for name, value in ALTERED.items()]
        wire.change_configs(TOPIC, topic, changes).must_succeed()
        _must_hold(wire, topic, nodes[0], altered)
        for _ in range(2):
            nodes = [*nodes[1:], nodes[0]]
            all_in_sync(wire, topic)
            comes_to_lead(wire, topic, nodes, wire.controller())
            wire.await_topic(topic)
            _must_hold(wire, topic, nodes[0], altered)


def _must_hold(wire, topic, leader, altered):
    wire.eventually(lambda: _must_be(wire, topic, leader, altered), within=WITHIN_S)


def _must_be(wire, topic, leader, altered):
    """What the leader does with a large batch and with a small one."""
    large = wire.produce(topic, batch(LARGE), acks=-1)
    here = f"node {leader} leads, and {'all is set' if altered else 'nothing is set any more'}"
    wanted = errors.MESSAGE_TOO_LARGE if altered else errors.NONE
    large.must(large.error == wanted, f"{here}: {len(LARGE)} bytes are answered with {large.error}, not {wanted}")
    small = wire.produce(topic, batch("a", "a"), acks=-1).must_succeed()
    stamped = small.log_append_time >= 0
    small.must(stamped == altered, f"{here}: a batch is {'' if stamped else 'not '}given the broker's time")
    seen = wire.fetch(topic, offset=small.offset).must_succeed()
    codec = seen.batches[0].header.codec
    seen.must(codec == (compression.GZIP if altered else 0), f"{here}: a batch is kept with compression {codec}")
