"""The broker's settings: Kafka's names and defaults, except that nothing makes a test wait (`fast`)."""

from __future__ import annotations

from brokertrial.reference_impl.settings.setting import INT_MAX, LONG_MAX, Setting
from brokertrial.reference_impl.settings.topic import TOPIC_SETTINGS

RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
_ROWS = [
    # the listener
    Setting("socket.request.max.bytes", "int", "104857600", low=1),
    Setting("queued.max.request.bytes", "long", str(256 << 20), low=1, doc="Kafka's default is -1, no limit"),
    Setting("connections.max.idle.ms", "long", "600000"),
    Setting("max.connections", "int", str(INT_MAX), low=0, dynamic=True),
    # what the process is; given by how it is started
    Setting("process.roles", "list", ""),
    # topics
    Setting("auto.create.topics.enable", "boolean", "true"),
    Setting("delete.topic.enable", "boolean", "true"),
    Setting("num.partitions", "int", "1", low=1),
    Setting("default.replication.factor", "int", "1", low=1),
    Setting("max.request.partition.size.limit", "int", "2000", low=1),
    # logs
    Setting("log.retention.check.interval.ms", "long", "500", low=1, doc="fast: Kafka's default is 300000"),
    Setting("log.cleaner.enable", "boolean", "true"),
    Setting("log.cleaner.backoff.ms", "long", "500", low=0, dynamic=True, doc="fast: Kafka's default is 15000"),
    Setting("producer.id.expiration.ms", "int", "86400000", low=1, dynamic=True),
    Setting("producer.id.expiration.check.interval.ms", "int", "500", low=1, doc="fast: Kafka's default is 600000"),
    Setting("flush.mode", "string", "never", choices=("never", "interval", "always"), doc="not in Kafka"),
    # the cluster
    Setting("broker.session.timeout.ms", "int", "4000", low=1, doc="fast: Kafka's default is 9000"),
    Setting("broker.heartbeat.interval.ms", "int", "200", low=1, doc="fast: Kafka's default is 2000"),
    Setting(
        "broker.reconnect.grace.ms", "int", "100", low=0, doc="not in Kafka: a broken connection is a sign of death"
    ),
    Setting("replica.lag.time.max.ms", "long", "2000", low=1, doc="fast: Kafka's default is 30000"),
    Setting("broker.rack", "string", ""),
    Setting("advertised.listeners", "string", "", doc="the first is where clients are told to find it"),
    Setting("replica.selector.class", "string", "", choices=("", RACK_AWARE), doc="no other is built"),
    Setting("replica.fetch.wait.max.ms", "int", "100", low=1, doc="fast: Kafka's default is 500"),
    *(
        Setting(f"{side}.replication.throttled.rate", "long", str(LONG_MAX), low=0, dynamic=True)
        for side in ("leader", "follower")
    ),
    Setting("controlled.shutdown.enable", "boolean", "true"),
    Setting("auto.leader.rebalance.enable", "boolean", "true"),
    Setting("leader.imbalance.check.interval.seconds", "long", "300", low=1),
    Setting("unclean.leader.election.interval.ms", "long", "1000", low=1, doc="fast: Kafka's default is 300000"),
    Setting("metadata.log.max.record.bytes.between.snapshots", "long", "20971520", low=1, doc="no effect: all is kept"),
    Setting("metadata.max.retention.bytes", "long", "104857600", doc="no effect: all is kept"),
    # fetch
    Setting("fetch.max.bytes", "int", "57671680", low=1024),
    Setting("max.incremental.fetch.session.cache.slots", "int", "1000", low=0),
    # groups and offsets
    Setting("group.initial.rebalance.delay.ms", "int", "0", doc="fast: Kafka's default is 3000"),
    Setting("group.min.session.timeout.ms", "int", "100", low=1, doc="fast: Kafka's default is 6000"),
    Setting("group.max.session.timeout.ms", "int", "1800000"),
    Setting("group.max.size", "int", str(INT_MAX), low=1),
    Setting("offset.metadata.max.bytes", "int", "4096"),
    Setting("offsets.load.buffer.size", "int", "5242880", low=1),
    Setting("offsets.topic.num.partitions", "int", "50", low=1),
    Setting("offsets.topic.replication.factor", "short", "1", low=1),
    Setting("offsets.retention.minutes", "int", "10080", low=1),
    Setting("offsets.retention.check.interval.ms", "long", "600000", low=1),
    Setting("group.consumer.session.timeout.ms", "int", "45000", low=1),
    Setting("group.consumer.min.session.timeout.ms", "int", "100", low=1, doc="fast: Kafka's default is 45000"),
    Setting("group.consumer.max.session.timeout.ms", "int", "60000", low=1),
    Setting("group.consumer.heartbeat.interval.ms", "int", "300", low=1, doc="fast: Kafka's default is 5000"),
    Setting("group.consumer.min.heartbeat.interval.ms", "int", "50", low=1, doc="fast: Kafka's default is 5000"),
    Setting("group.consumer.max.heartbeat.interval.ms", "int", "15000", low=1),
    Setting("group.consumer.max.size", "int", str(INT_MAX), low=1),
    Setting(
        "group.consumer.migration.policy",
        "string",
        "disabled",
        choices=("disabled",),
        doc="no other is built; Kafka's default is bidirectional",
    ),
    Setting("group.version", "short", "1", low=0, high=1, doc="finalized feature level; not in Kafka's file"),
    # transactions
    Setting("transaction.state.log.num.partitions", "int", "50", low=1),
    Setting("transaction.state.log.replication.factor", "short", "1", low=1),
    Setting("transaction.state.log.load.buffer.size", "int", "5242880", low=1),
    Setting("transaction.max.timeout.ms", "int", "900000", low=1),
    Setting("transactional.id.expiration.ms", "int", "604800000", low=1),
    Setting(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        "int",
        "100",
        low=1,
        doc="fast: Kafka's default is 10000",
    ),
    Setting(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        "int",
        "500",
        low=1,
        doc="fast: Kafka's default is 3600000",
    ),
    Setting("transaction.partition.verification.enable", "boolean", "true", dynamic=True),
    Setting("transaction.version", "short", "2", low=0, high=2, doc="finalized feature level; not in Kafka's file"),
    # what a topic inherits and nothing else names
    *(
        Setting(s.synonym, s.kind, s.default, s.low, s.high, s.choices, dynamic=True)
        for s in TOPIC_SETTINGS.values()
        if s.synonym
    ),
    Setting("background.threads", "int", "10", low=1, dynamic=True, doc="kept, no effect"),
    Setting("num.io.threads", "int", "8", low=1, dynamic=True, doc="kept, no effect"),
    Setting("num.network.threads", "int", "3", low=1, dynamic=True, doc="kept, no effect"),
    Setting("log.flush.scheduler.interval.ms", "long", str(LONG_MAX), doc="kept, no effect"),
]

BROKER_SETTINGS = {row.name: row for row in _ROWS}

INNER = [
    Setting("metadata.log.segment.min.bytes", "int", "8388608"),
    Setting("remote.log.manager.thread.pool.size", "int", "10"),
    Setting("remote.log.storage.system.enable", "boolean", "false"),
]
"""What Kafka has and shows nobody; only with K36."""

UNBOUND_ONCE = frozenset(
    {
        "log.cleaner.delete.retention.ms",
        "log.cleaner.max.compaction.lag.ms",
        "log.cleaner.min.cleanable.ratio",
        "log.cleaner.min.compaction.lag.ms",
        "log.message.timestamp.after.max.ms",
        "log.message.timestamp.before.max.ms",
    }
)
"""Numbers that Kafka bounded for topics before it did for brokers; only with K40."""
