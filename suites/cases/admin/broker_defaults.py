"""Settings of the brokers that are changed while topics are in use: which follow, which do not (KIP-226)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import BROKER, DELETE, SET, TOPIC
from brokertrial.wire import errors

CHANGE = {"DescribeConfigs": 1, "IncrementalAlterConfigs": 0}
TOPICS_OWN, ALL_BROKERS = 1, 3
WITHIN_S = 10
ALL = ""


@case(
    "admin/default-of-all-brokers-changed",
    guarantees=["adm-010", "adm-008"],
    apis=CHANGE,
    needs=["settings", "started", "topic-settings"],
    detects=["Q10", edit_answer("results[].configs[].config_source", set=5, api="DescribeConfigs")],
)
def topics_without_a_setting_follow_the_brokers(wire):
    """A setting that is changed for all brokers MUST come into force for existing topics that have no value of their
    own, and MUST NOT for those that have; when it is deleted the default is in force again. DescribeConfigs returns the
    source of each value.
    """
    follows, keeps = wire.name("follows"), wire.name("keeps")
    wire.create_topic(follows).must_succeed()
    wire.create_topic(keeps, configs={"max.message.bytes": "20000"}).must_succeed()
    for topic in (follows, keeps):
        wire.await_topic(topic)
        wire.produce(topic, batch("x" * 5_000)).must_be_at(0)
    try:
        wire.change_configs(BROKER, ALL, [("message.max.bytes", SET, "3000")]).must_succeed()
        wire.eventually(lambda: wire.produce(follows, "x" * 5_000).must_be_refused(errors.MESSAGE_TOO_LARGE), within=10)
        wire.produce(keeps, batch("x" * 5_000)).must_be_at(1)
        wire.produce(keeps, batch("x" * 25_000)).must_be_refused(errors.MESSAGE_TOO_LARGE)
        wire.eventually(lambda: _from(wire, TOPIC, follows, "max.message.bytes", "3000", ALL_BROKERS), within=WITHIN_S)
        _from(wire, TOPIC, keeps, "max.message.bytes", "20000", TOPICS_OWN)
        wire.change_configs(TOPIC, keeps, [("max.message.bytes", DELETE, None)]).must_succeed()
        wire.eventually(lambda: wire.produce(keeps, "x" * 5_000).must_be_refused(errors.MESSAGE_TOO_LARGE), within=10)
    finally:
        wire.change_configs(BROKER, ALL, [("message.max.bytes", DELETE, None)])
    for topic in (follows, keeps):
        wire.eventually(lambda topic=topic: wire.produce(topic, batch("x" * 5_000)).must_succeed(), within=WITHIN_S)
        wire.eventually(lambda topic=topic: _is_no_override(wire, topic, "max.message.bytes"), within=WITHIN_S)


def _from(wire, kind, name, key, value, *sources):
    """The setting has this value, and comes from one of these."""
    answer = wire.describe_configs(kind, name, [key]).must_succeed()
    found = [(row.value, row.config_source) for row in answer.at("results[0].configs")]
    wanted = f"value {value} and source {' or '.join(map(str, sources))}"
    return answer.must(
        found in [[(value, source)] for source in sources], f"{key} has (value, source) {found}; it must have {wanted}"
    )


def _is_no_override(wire, topic, key):
    answer = wire.describe_configs(TOPIC, topic, [key]).must_succeed()
    found = [row.config_source for row in answer.at("results[0].configs")]
    return answer.must(TOPICS_OWN not in found and ALL_BROKERS not in found, f"{key} still comes from {found}")
