"""Settings of the brokers that topics inherit, at and beyond their bounds: refused, or good for topics (KIP-226)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import BROKER, DELETE, SET
from brokertrial.wire import errors

ALL, WITHIN_S = "", 20
REFUSALS = (errors.INVALID_CONFIG, errors.INVALID_REQUEST)
VALUES = {
    "compression.type": ("", "best"),
    "log.cleaner.delete.retention.ms": ("-1", "0"),
    "log.cleaner.max.compaction.lag.ms": ("0", "1"),
    "log.cleaner.min.cleanable.ratio": ("-0.5", "1", "1.5"),
    "log.cleaner.min.compaction.lag.ms": ("-5", "0"),
    "log.cleanup.policy": ("", "neither", "delete,compact"),
    "log.flush.interval.messages": ("0", "1"),
    "log.flush.interval.ms": ("-1",),
    "log.index.interval.bytes": ("-1", "0"),
    "log.index.size.max.bytes": ("0", "3"),
    "log.message.timestamp.type": ("LogAppendTime", "Never"),
    "log.retention.bytes": ("-7", "-1"),
    "log.retention.ms": ("-7", "-1"),
    "log.roll.jitter.ms": ("-1", "0"),
    "log.roll.ms": ("-1", "0"),
    "log.segment.bytes": ("-1", "1"),
    "log.segment.delete.delay.ms": ("-1",),
    "message.max.bytes": ("-1",),
    "min.insync.replicas": ("-1", "0"),
}


@case(
    "admin/brokers-take-what-topics-can-have",
    guarantees=["adm-009", "adm-010", "adm-001"],
    apis={"DescribeConfigs": 1, "IncrementalAlterConfigs": 0},
    needs=["settings", "started", "topic-settings"],
    detects=["K40"],
)
def a_setting_that_is_taken_lets_topics_be_made(wire, rng):
    """A setting of all brokers that gives topics their default MUST be refused, or be one that a topic can have: while
    it is in force a topic without settings can be made, and takes and gives back a record.

    Nineteen settings in a drawn order, at their bounds and beyond.
    """
    for name in rng.sample(sorted(VALUES), len(VALUES)):
        for value in VALUES[name]:
            answer = wire.change_configs(BROKER, ALL, [(name, SET, value)])
            if answer.error:
                answer.must_be_refused(*REFUSALS)
                continue
            try:
                wire.eventually(lambda name=name, value=value: _must_be_in_force(wire, name, value), within=WITHIN_S)
                with wire.part(f"{name}={value}"):
                    _must_be_made(wire)
            finally:
                wire.change_configs(BROKER, ALL, [(name, DELETE, None)])


def _must_be_in_force(wire, name, value):
    for node in wire.nodes:
        answer = wire.describe_configs(BROKER, str(node), [name]).must_succeed()
        found = [row.value for row in answer.at("results[0].configs")]
        wire.must(found and _same(found[0], value), f"{name} is {found} at node {node}; it was set to {value!r}")


def _same(found, value):
    try:
        return float(found) == float(value)
    except (TypeError, ValueError):
        return (found or "") == value


def _must_be_made(wire):
    topic = wire.name("topic")
    wire.create_topic(topic).must_succeed()
    wire.await_topic(topic)
    wire.produce(topic, batch("a", key=b"k")).must_be_at(0)
    wire.fetch(topic, offset=0).must_hold("a")
    wire.delete_topic(topic).must_succeed()
