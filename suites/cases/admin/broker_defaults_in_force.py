"""What brokers set for topics without settings of their own, seen in what the topics do."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.admin.broker_settings import changed
from brokertrial.suites.cases.retention.limits import CHECKS, HOUR_MS, wait_for_a_check
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import DELETE, SET
from brokertrial.wire import errors

ALL, WITHIN_S, GZIP = "", 20, 1
OLD_MS, FAR_MS = 2 * HOUR_MS, HOUR_MS // 2
"""How old a record is that is too old under the settings below, and how far ahead one that is too far ahead."""


@case(
    "admin/broker-defaults-in-force",
    guarantees=["adm-010", "adm-009"],
    apis={"IncrementalAlterConfigs": 0, "CreateTopics": 2},
    needs=["settings", "started", "topic-settings"],
    detects=["B318"],
)
def topics_do_as_the_brokers_are_set(wire, rng):
    """A setting that is changed for all brokers, or for the one that leads, MUST come into force in existing topics and
    new ones that have no value of their own, MUST NOT in those that have, and MUST go out of force when it is deleted:
    how old and how far ahead a record may be, what its timestamp is, whether it needs a key, how it is compressed, and
    how long it is kept.

    Six settings, in a drawn order, each for all brokers or for one.
    """
    wire.needs_setting(CHECKS, at_most=5_000)
    for setting in rng.sample(SETTINGS, len(SETTINGS)):
        with wire.part(f"{setting.name}={setting.value}"):
            _comes_and_goes(wire, setting, rng)


def _comes_and_goes(wire, setting, rng):
    plain, keeps, new = (wire.name(what) for what in ("plain", "keeps", "new"))
    _make(wire, plain)
    _make(wire, keeps, **{setting.of_topics: setting.usual})
    broker = rng.choice((ALL, str(wire.leader(plain))))
    for topic in (plain, keeps):
        setting.must_be(wire, topic, False)
    changed(wire, broker, [(setting.name, SET, setting.value)]).must_succeed()
    try:
        wire.eventually(lambda: setting.must_be(wire, plain, True), within=WITHIN_S)
        if broker == ALL:
            _make(wire, new)
            wire.eventually(lambda: setting.must_be(wire, new, True), within=WITHIN_S)
        setting.must_be(wire, keeps, False)
    finally:
        changed(wire, broker, [(setting.name, DELETE, None)]).examined = True
    wire.eventually(lambda: setting.must_be(wire, plain, False), within=WITHIN_S)


def _make(wire, topic, **configs):
    wire.create_topic(topic, configs=configs).must_succeed()
    wire.await_topic(topic)
    return topic


class BrokerSetting:
    """One setting of brokers, what topics call it, a value that changes what they do, and the usual one."""

    def __init__(self, name, of_topics, value, usual, must_be):
        self.name, self.of_topics, self.value, self.usual, self.must_be = name, of_topics, value, usual, must_be


def _old_is_refused(wire, topic, in_force):
    _must_be_taken(wire, topic, not in_force, batch("a", timestamp=wire.now_ms() - OLD_MS), errors.INVALID_TIMESTAMP)


def _ahead_is_refused(wire, topic, in_force):
    _must_be_taken(wire, topic, not in_force, batch("a", timestamp=wire.now_ms() + FAR_MS), errors.INVALID_TIMESTAMP)


def _key_is_needed(wire, topic, in_force):
    _must_be_taken(wire, topic, not in_force, batch("a", timestamp=wire.now_ms()), errors.INVALID_RECORD)


def _must_be_taken(wire, topic, taken, made, code):
    answer = wire.produce(topic, made)
    if taken:
        answer.must_succeed()
    else:
        answer.must_be_refused(code)


def _brokers_time(wire, topic, in_force):
    answer = wire.produce(topic, batch("a", timestamp=wire.now_ms() - OLD_MS)).must_succeed()
    time = answer.log_append_time
    what = "the broker's time" if time >= 0 else "no time by the broker"
    answer.must((time >= 0) == in_force, f"a record is given {what}", "log_append_time_ms")


def _is_compressed(wire, topic, in_force):
    offset = wire.produce(topic, batch("a" * 200, timestamp=wire.now_ms())).must_succeed().offset
    answer = wire.fetch(topic, offset=offset).must_succeed()
    codec = answer.batches[0].header.attributes & 7
    answer.must((codec == GZIP) == in_force, f"an uncompressed batch is stored with codec {codec}")


def _old_is_deleted(wire, topic, in_force):
    offset = wire.produce(topic, batch("a", timestamp=wire.now_ms() - OLD_MS)).must_succeed().offset
    if in_force:
        wire.until(lambda: wire.log_start(topic) > offset, within=WITHIN_S, what=f"{topic} begins behind {offset}")
        return
    wait_for_a_check(wire, lambda configs, what: _make(wire, wire.name(what), **configs))
    kept = wire.fetch(topic, offset=offset)
    kept.must(not kept.error, f"the record at {offset} is gone; it is younger than retention.ms of its topic")
    kept.must_hold("a")


BEFORE, AFTER = "message.timestamp.before.max.ms", "message.timestamp.after.max.ms"
SETTINGS = (
    BrokerSetting(f"log.{BEFORE}", BEFORE, str(HOUR_MS), str(9 * HOUR_MS), _old_is_refused),
    BrokerSetting(f"log.{AFTER}", AFTER, "60000", str(HOUR_MS), _ahead_is_refused),
    BrokerSetting("log.cleanup.policy", "cleanup.policy", "compact", "delete", _key_is_needed),
    BrokerSetting("log.message.timestamp.type", "message.timestamp.type", "LogAppendTime", "CreateTime", _brokers_time),
    BrokerSetting("compression.type", "compression.type", "gzip", "producer", _is_compressed),
    BrokerSetting("log.retention.ms", "retention.ms", str(HOUR_MS), str(9 * HOUR_MS), _old_is_deleted),
)
