"""For each API of clients the least that it can be asked: nothing is made, changed or waited for."""

from brokertrial.wire.messages import Struct, request

SOFTWARE = {"client_software_name": "client", "client_software_version": "1"}
ABSENT_ID = 2**31 - 2
#: The feature that must be finalized before these do more than answer with error 35 (KIP-848, KIP-932, KIP-1071).
FEATURES = {
    "ConsumerGroupHeartbeat": "group.version",
    "ConsumerGroupDescribe": "group.version",
    "ShareGroupHeartbeat": "share.version",
    "ShareGroupDescribe": "share.version",
    "ShareFetch": "share.version",
    "ShareAcknowledge": "share.version",
    "DescribeShareGroupOffsets": "share.version",
    "AlterShareGroupOffsets": "share.version",
    "DeleteShareGroupOffsets": "share.version",
    "StreamsGroupHeartbeat": "streams.version",
    "StreamsGroupDescribe": "streams.version",
}


def least(absent: str) -> list[Struct]:
    """The requests, about a topic, group or transactional id that does not exist where one has to be named.

    Left out: what only brokers ask each other, PushTelemetry (it needs an id that was given out before),
    CreateDelegationToken (it would make one) and StreamsGroupTopologyDescriptionUpdate (it needs a plugin).
    """
    return [
        *_records(absent),
        *_groups(absent),
        *_transactions(absent),
        *_administration(absent),
        *_newer_groups(absent),
    ]


def _records(absent: str) -> list[Struct]:
    return [
        request("ApiVersions", **SOFTWARE),
        request("Produce", acks=-1, timeout_ms=1_000),
        request("Fetch", replica_id=-1, max_wait_ms=500, min_bytes=1, session_epoch=-1),
        request("ListOffsets", replica_id=-1),
        request("Metadata", topics=[], allow_auto_topic_creation=False),
        request("OffsetForLeaderEpoch", replica_id=-1),
        request("SaslHandshake", mechanism="PLAIN"),
        request("GetTelemetrySubscriptions"),
        request("DescribeTopicPartitions", topics=[{"name": absent}], response_partition_limit=1),
    ]


def _groups(absent: str) -> list[Struct]:
    return [
        request("OffsetCommit"),
        request("OffsetFetch", group_id=absent, groups=[{"group_id": absent}]),
        request("FindCoordinator", key=absent, coordinator_keys=[absent]),
        request("JoinGroup", session_timeout_ms=10_000, rebalance_timeout_ms=10_000),
        request("Heartbeat"),
        request("LeaveGroup"),
        request("SyncGroup"),
        request("DescribeGroups"),
        request("ListGroups"),
        request("DeleteGroups"),
        request("OffsetDelete"),
        request("ConsumerGroupDescribe", group_ids=[absent]),
    ]


def _transactions(absent: str) -> list[Struct]:
    topics = [{"name": absent, "partitions": [0]}]
    whose = {"transactional_id": absent, "producer_id": ABSENT_ID, "producer_epoch": 0}
    return [
        request("InitProducerId", transactional_id=None, transaction_timeout_ms=60_000),
        request(
            "AddPartitionsToTxn",
            v3_and_below_transactional_id=absent,
            v3_and_below_producer_id=ABSENT_ID,
            v3_and_below_producer_epoch=0,
            v3_and_below_topics=topics,
            transactions=[{**whose, "verify_only": True, "topics": topics}],
        ),
        request("AddOffsetsToTxn", group_id=absent, **whose),
        request("EndTxn", committed=False, **whose),
        request("TxnOffsetCommit", group_id=absent, **whose),
        request("DescribeProducers"),
        request("DescribeTransactions", transactional_ids=[absent]),
        request("ListTransactions"),
    ]


def _administration(absent: str) -> list[Struct]:
    return [
        request("CreateTopics", validate_only=True),
        request("DeleteTopics"),
        request("DeleteRecords"),
        request("CreatePartitions", validate_only=True),
        request("DescribeConfigs"),
        request("AlterConfigs", validate_only=True),
        request("IncrementalAlterConfigs", validate_only=True),
        request("ListConfigResources"),
        request("DescribeCluster"),
        request("DescribeLogDirs", topics=[]),
        request("AlterReplicaLogDirs"),
        request("ElectLeaders", topic_partitions=[], timeout_ms=1_000),
        request("AlterPartitionReassignments", timeout_ms=1_000),
        request("ListPartitionReassignments", topics=[], timeout_ms=1_000),
        request("DescribeQuorum"),
        request("UpdateFeatures", timeout_ms=1_000, validate_only=True),
        request("UnregisterBroker", broker_id=ABSENT_ID),
        request("DescribeAcls", resource_type_filter=2, pattern_type_filter=3, operation=1, permission_type=1),
        request("CreateAcls"),
        request("DeleteAcls"),
        request("DescribeClientQuotas"),
        request("AlterClientQuotas", validate_only=True),
        request("DescribeUserScramCredentials", users=[{"name": absent}]),
        request("AlterUserScramCredentials"),
        request("RenewDelegationToken", hmac=b"nobody"),
        request("ExpireDelegationToken", hmac=b"nobody"),
        request("DescribeDelegationToken", owners=[]),
    ]


def _newer_groups(absent: str) -> list[Struct]:
    member = {"group_id": absent, "member_id": "AAAAAAAAAAAAAAAAAAAAAQ", "member_epoch": -1}
    session = {"group_id": absent, "member_id": "AAAAAAAAAAAAAAAAAAAAAQ", "share_session_epoch": -1}
    return [
        request("ConsumerGroupHeartbeat", **member),
        request("ShareGroupHeartbeat", **member),
        request("ShareGroupDescribe", group_ids=[absent]),
        request("ShareFetch", max_wait_ms=0, max_bytes=1, **session),
        request("ShareAcknowledge", **session),
        request("DescribeShareGroupOffsets"),
        request("AlterShareGroupOffsets", group_id=absent),
        request("DeleteShareGroupOffsets", group_id=absent),
        request("StreamsGroupHeartbeat", **member),
        request("StreamsGroupDescribe", group_ids=[absent]),
    ]
