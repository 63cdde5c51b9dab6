"""Settings that brokers are started with: described with that source, and each in force by its effect."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch, rebalance
from brokertrial.suites.probe.admin import BROKER, DELETE, SET
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember
from brokertrial.wire import errors

MADE_ON_USE = "auto.create.topics.enable"
DISABLED_SINCE = 3
OF_CONTROLLERS = ("delete.topic.enable",)
STATIC, WITHIN_S, HOUR_MS = 4, 20, 3_600_000
DELETED_WITHIN_S = 50
"""Kafka before 3.8 looks for what is too old half a minute after its start for the first time (KAFKA-16552)."""
ALL, ANOTHER = "", "log.cleaner.delete.retention.ms"
"""A setting of the same logs that is changed while the brokers run."""


class StartedWith:
    """What each setting does, once the brokers were started with this value."""

    def __init__(self, wire, values):
        self.wire, self.values = wire, values

    def number(self, name):
        return int(self.values[name])

    def message_max_bytes(self, name):
        topic, most = self._topic(), self.number(name)
        self.wire.produce(topic, batch("x" * (most - 100))).must_be_at(0)
        self.wire.produce(topic, batch("x" * most)).must_be_refused(errors.MESSAGE_TOO_LARGE)

    def offset_metadata_max_bytes(self, name):
        topic, group, most = self._topic(), self.wire.name("g"), self.number(name)
        self.wire.commit(group, topic, offset=1, metadata="m" * most).must_succeed()
        self.wire.commit(group, topic, offset=2, metadata="m" * (most + 1)).must_be_refused(
            errors.OFFSET_METADATA_TOO_LARGE
        )
        self.wire.committed(group, topic).must_be(1)

    def group_max_size(self, name):
        group, most = self.wire.name("g"), self.number(name)
        rebalance(*[self.wire.member(group, f"m{n}") for n in range(most)])
        self.wire.join_group(group, via="late").must_be_refused(errors.GROUP_MAX_SIZE_REACHED)

    def group_consumer_max_size(self, name):
        topic, group = self._topic(), self.wire.name("g")
        for _ in range(self.number(name)):
            ConsumerGroupMember(self.wire, group, topic).beat().must_succeed()
        late = ConsumerGroupMember(self.wire, group, topic)
        late.beat().must_be_refused(errors.GROUP_MAX_SIZE_REACHED)

    def group_min_session_timeout_ms(self, name):
        least = self.number(name)
        refused = self.wire.join_group(self.wire.name("g"), session_timeout_ms=least - 1, via="least")
        refused.must_be_refused(errors.INVALID_SESSION_TIMEOUT)
        self.wire.member(self.wire.name("g"), "at least", session_timeout_ms=least).join().must_succeed()

    def group_max_session_timeout_ms(self, name):
        most = self.number(name)
        refused = self.wire.join_group(self.wire.name("g"), session_timeout_ms=most + 1, via="most")
        refused.must_be_refused(errors.INVALID_SESSION_TIMEOUT)
        self.wire.member(self.wire.name("g"), "at most", session_timeout_ms=most).join().must_succeed()

    def transaction_max_timeout_ms(self, name):
        most = self.number(name)
        refused = self.wire.init_producer_id(self.wire.name("x"), timeout_ms=most + 1)
        refused.must_be_refused(errors.INVALID_TRANSACTION_TIMEOUT)
        self.wire.init_producer_id(self.wire.name("x"), timeout_ms=most).must_succeed()

    def num_partitions(self, name):
        """Of a topic made on use: CreateTopics goes by what the controller was started with."""
        topic = self.wire.name("t")
        self.wire.metadata(topic, create=True).examined = True  # it is on its way
        self.wire.await_topic(topic)
        answer = self.wire.metadata(topic).must_succeed()
        answer.must(len(answer.struct.topics[0].partitions) == self.number(name), f"{name} is {self.values[name]}")

    def delete_topic_enable(self, _):
        topic = self._topic()
        self.wire.delete_topic(topic).must_be_refused(errors.TOPIC_DELETION_DISABLED)
        oldest = self.wire.versions("DeleteTopics")[0]
        if oldest < DISABLED_SINCE:  # that code came with v3
            self.wire.delete_topic(topic, version=oldest).must_be_refused(errors.INVALID_REQUEST)
        self.wire.produce(topic, batch("there")).must_be_at(0)

    def max_incremental_fetch_session_cache_slots(self, _):
        topic = self._topic()
        self.wire.produce(topic, batch("value")).must_be_at(0)
        whole = self.wire.fetch_many({(topic, 0): 0}, session_id=0, session_epoch=0).must_succeed()
        whole.must_have("session_id", 0)
        whole.of(topic, 0).must_hold("value")

    def log_message_timestamp_type(self, _):
        topic, sent_ms = self._topic(), self.wire.now_ms() - HOUR_MS
        answer = self.wire.produce(topic, batch(at=[sent_ms])).must_be_at(0)
        answer.must(
            answer.log_append_time > sent_ms, f"the record has the time of its append, not {answer.log_append_time}"
        )
        self.wire.list_offsets(topic, at=sent_ms + 1).must_name(offset=0, timestamp=answer.log_append_time)

    def log_retention(self, _):
        """Before and after another setting of the logs was changed while the brokers ran."""
        self._old_must_go()
        try:
            self.wire.change_configs(BROKER, ALL, [(ANOTHER, SET, "7200000")]).must_succeed()
            self.wire.eventually(lambda: self._must_be_in_force(ANOTHER, "7200000"), within=WITHIN_S)
            self._old_must_go()
        finally:
            self.wire.change_configs(BROKER, ALL, [(ANOTHER, DELETE, None)])

    def _old_must_go(self):
        by_its_records = {"message.timestamp.type": "CreateTime"}
        topic, kept = self._topic(by_its_records), self._topic(by_its_records)
        self.wire.produce(kept, batch(at=[self.wire.now_ms() - HOUR_MS // 2])).must_be_at(0)
        self.wire.produce(topic, batch(at=[self.wire.now_ms() - 3 * HOUR_MS])).must_be_at(0)
        gone = f"a record of three hours ago is gone where records are kept for one: {self._kept_by()}"
        self.wire.until(lambda: self.wire.log_start(topic) == 1, within=DELETED_WITHIN_S, what=gone)
        self.wire.list_offsets(kept, at="earliest").must_name(offset=0)

    def _kept_by(self):
        return next(f"{name}={value}" for name, value in self.values.items() if name.startswith("log.retention"))

    def _must_be_in_force(self, name, value):
        answer = self.wire.describe_configs(BROKER, str(self.wire.nodes[0]), [name]).must_succeed()
        rows = [row.value for row in answer.at("results[0].configs")]
        answer.must(rows == [value], f"{name} is {rows}; it must be {value}")

    def _topic(self, configs=None):
        topic = self.wire.name("t")
        self.wire.create_topic(topic, configs=configs).must_succeed()
        self.wire.await_topic(topic)
        return topic


VALUES = {
    "message.max.bytes": ("3000", "5000"),
    "offset.metadata.max.bytes": ("10", "500"),
    "group.max.size": ("1", "2"),
    "group.consumer.max.size": ("1", "2"),
    "group.min.session.timeout.ms": ("7000", "8000"),
    "group.max.session.timeout.ms": ("20000", "30000"),
    "transaction.max.timeout.ms": ("20000", "30000"),
    "num.partitions": ("2", "3"),
    "delete.topic.enable": ("false",),
    "max.incremental.fetch.session.cache.slots": ("0",),
    "log.message.timestamp.type": ("LogAppendTime",),
}
RETENTION = {"log.retention.hours": ("1",), "log.retention.minutes": ("60",), "log.retention.ms": (str(HOUR_MS),)}


@case(
    "admin/started-with-settings",
    guarantees=["adm-008", "adm-010", "adm-005"],
    apis={"DescribeConfigs": 1, "IncrementalAlterConfigs": 0, "OffsetCommit": 2, "JoinGroup": 0, "InitProducerId": 0},
    needs=["chosen-settings", "settings", "started", "terminate", "restart"],
    detects=["V65", "V66", "D64"],
)
def what_brokers_are_started_with_is_in_force(wire, rng, nodes):
    """What a broker is started with MUST be described by DescribeConfigs with that source, and MUST be in force, in
    whatever unit it is given and also after another setting was changed at run time: limits of records, metadata,
    groups, sessions and transactions, the partitions of new topics, their times, retention, sessions of Fetch, and
    whether topics may be deleted. Started without it, the broker MUST have its previous value.

    The settings that the broker has, with drawn values.
    """
    known = {name: wire.setting(name) for name in (*VALUES, *RETENTION, MADE_ON_USE)}
    names = [name for name in VALUES if known[name] is not None and _is_offered(wire, name)]
    kept_by = rng.choice(["log.retention.ms"] if known["log.retention.hours"] is None else list(RETENTION))
    values = {name: rng.choice({**VALUES, **RETENTION}[name]) for name in (*names, kept_by)}
    values[MADE_ON_USE] = "true"
    nodes.start_with(values)
    _must_be_described(wire, values)
    started = StartedWith(wire, values)
    with wire.part(kept_by):
        started.log_retention(kept_by)
    for name in names:
        with wire.part(name):
            getattr(started, name.replace(".", "_"))(name)
    nodes.start_with({})
    for name in values:
        value = known[name]
        wire.must(wire.setting(name) == value, f"{name} is {wire.setting(name)} again; it was {value} before")


def _must_be_described(wire, values):
    for node in wire.nodes:
        answer = wire.describe_configs(BROKER, str(node), sorted(values)).must_succeed()
        found = {row.name: (row.value, row.config_source) for row in answer.at("results[0].configs")}
        wanted = {name: (value, STATIC) for name, value in values.items()}
        answer.must(found == wanted, f"(value, source) are {found}; they must be {wanted}", "results[0].configs")


def _is_offered(wire, name):
    if name in OF_CONTROLLERS and "controller" not in (wire.setting("process.roles") or "controller"):
        return False  # its brokers alone are started with it
    return name != "group.consumer.max.size" or wire.features.get("group.version", 0) >= 1
