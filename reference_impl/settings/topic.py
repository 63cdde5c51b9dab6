"""Every topic setting of Kafka 4.4. Those of tiered storage are kept and have no effect."""

from __future__ import annotations

from brokertrial.reference_impl.settings.setting import INT_MAX, LONG_MAX, Setting

_CODECS = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
_REPLICA = "([0-9]+:[0-9]+)?"
"""Partition and node, or nothing (ThrottledReplicaListValidator)."""

_ROWS = [
    Setting("cleanup.policy", "list", "delete", choices=("compact", "delete"), synonym="log.cleanup.policy"),
    Setting("compression.gzip.level", "int", "-1", low=-1, high=9, synonym="compression.gzip.level"),
    Setting("compression.lz4.level", "int", "9", low=1, high=17, synonym="compression.lz4.level"),
    Setting("compression.type", "string", "producer", choices=_CODECS, synonym="compression.type"),
    Setting("compression.zstd.level", "int", "3", low=-131072, high=22, synonym="compression.zstd.level"),
    Setting("delete.retention.ms", "long", "86400000", low=0, synonym="log.cleaner.delete.retention.ms"),
    Setting("errors.deadletterqueue.group.enable", "boolean", "false"),
    Setting("file.delete.delay.ms", "long", "60000", low=0, synonym="log.segment.delete.delay.ms"),
    Setting("flush.messages", "long", str(LONG_MAX), low=1, synonym="log.flush.interval.messages"),
    Setting("flush.ms", "long", str(LONG_MAX), low=0, synonym="log.flush.interval.ms"),
    Setting("follower.replication.throttled.replicas", "list", "", form=_REPLICA),
    Setting("index.interval.bytes", "int", "4096", low=0, synonym="log.index.interval.bytes"),
    Setting("leader.replication.throttled.replicas", "list", "", form=_REPLICA),
    Setting("local.retention.bytes", "long", "-2", low=-2, synonym="log.local.retention.bytes"),
    Setting("local.retention.ms", "long", "-2", low=-2, synonym="log.local.retention.ms"),
    Setting("max.compaction.lag.ms", "long", str(LONG_MAX), low=1, synonym="log.cleaner.max.compaction.lag.ms"),
    Setting("max.decompressed.message.bytes", "int", "2147483639", low=0),
    Setting("max.message.bytes", "int", "1048588", low=0, synonym="message.max.bytes"),
    Setting("message.timestamp.after.max.ms", "long", "3600000", low=0, synonym="log.message.timestamp.after.max.ms"),
    Setting(
        "message.timestamp.before.max.ms", "long", str(LONG_MAX), low=0, synonym="log.message.timestamp.before.max.ms"
    ),
    Setting(
        "message.timestamp.type",
        "string",
        "CreateTime",
        choices=("CreateTime", "LogAppendTime"),
        synonym="log.message.timestamp.type",
    ),
    Setting("min.cleanable.dirty.ratio", "double", "0.5", low=0, high=1, synonym="log.cleaner.min.cleanable.ratio"),
    Setting("min.compaction.lag.ms", "long", "0", low=0, synonym="log.cleaner.min.compaction.lag.ms"),
    Setting("min.insync.replicas", "int", "1", low=1, synonym="min.insync.replicas"),
    Setting("preallocate", "boolean", "false", synonym="log.preallocate"),
    Setting("remote.copy.lag.bytes", "long", "-1", low=-1),
    Setting("remote.copy.lag.ms", "long", "0", low=-1),
    Setting("remote.log.copy.disable", "boolean", "false"),
    Setting("remote.log.delete.on.disable", "boolean", "false"),
    Setting("remote.storage.enable", "boolean", "false"),
    Setting("retention.bytes", "long", "-1", synonym="log.retention.bytes"),
    Setting("retention.ms", "long", "604800000", low=-1, synonym="log.retention.ms"),
    Setting("segment.bytes", "int", "1073741824", low=1 << 20, high=INT_MAX, synonym="log.segment.bytes"),
    Setting("segment.index.bytes", "int", "10485760", low=4, synonym="log.index.size.max.bytes"),
    Setting("segment.jitter.ms", "long", "0", low=0, synonym="log.roll.jitter.ms"),
    Setting("segment.ms", "long", "604800000", low=1, synonym="log.roll.ms"),
    Setting("unclean.leader.election.enable", "boolean", "false", synonym="unclean.leader.election.enable"),
]

TOPIC_SETTINGS = {row.name: row for row in _ROWS}
