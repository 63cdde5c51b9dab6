"""For each API of clients the least that it can be asked: nothing is made, changed or waited for."""

from brokertrial.wire.messages import Struct, request

SOFTWARE = {"client_software_name": "client", "client_software_version": "1"}
NOBODY_ID = 2**31 - 2
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


def least(nobody: str) -> list[Struct]:
    """The requests, about a topic, group or transactional id that does not exist where one has to be named.

    Left out: what only brokers ask each other, PushTelemetry (it needs an id that was given out before),
    CreateDelegationToken (it would make one) and StreamsGroupTopologyDescriptionUpdate (it needs a plugin).
    """
    return [
        *_records(nobody),
        *_groups(nobody),
        *_transactions(nobody),
        *_administration(nobody),
        *_newer_groups(nobody),
    ]


def _records(nobody: str) -> list[Struct]:
    return [
        request("ApiVersions", **SOFTWARE),
        request("Produce", acks=-1, timeout_ms=1_000),
        request("Fetch", replica_id=-1, max_wait_ms=500, min_bytes=1, session_epoch=-1),
        request("ListOffsets", replica_id=-1),
        request("Metadata", topics=[], allow_auto_topic_creation=False),
        request("OffsetForLeaderEpoch", replica_id=-1),
        request("SaslHandshake", mechanism="PLAIN"),
        request("GetTelemetrySubscriptions"),
        request("DescribeTopicPartitions", topics=[{"name": nobody}], response_partition_limit=1),
    ]


def _groups(nobody: str) -> list[Struct]:
    return [
        request("OffsetCommit"),
        request("OffsetFetch", group_id=nobody, groups=[{"group_id": nobody}]),
        request("FindCoordinator", key=nobody, coordinator_keys=[nobody]),
        request("JoinGroup", session_timeout_ms=10_000, rebalance_timeout_ms=10_000),
        request("Heartbeat"),
        request("LeaveGroup"),
        request("SyncGroup"),
        request("DescribeGroups"),
        request("ListGroups"),
        request("DeleteGroups"),
        request("OffsetDelete"),
        request("ConsumerGroupDescribe", group_ids=[nobody]),
    ]


def _transactions(nobody: str) -> list[Struct]:
    topics = [{"name": nobody, "partitions": [0]}]
    whose = {"transactional_id": nobody, "producer_id": NOBODY_ID, "producer_epoch": 0}
    return [
        request("InitProducerId", transactional_id=None, transaction_timeout_ms=60_000),
        request(
            "AddPartitionsToTxn",
            v3_and_below_transactional_id=nobody,
            v3_and_below_producer_id=NOBODY_ID,
            v3_and_below_producer_epoch=0,
            v3_and_below_topics=topics,
            transactions=[{**whose, "verify_only": True, "topics": topics}],
        ),
        request("AddOffsetsToTxn", group_id=nobody, **whose),
        request("EndTxn", committed=False, **whose),
        request("TxnOffsetCommit", group_id=nobody, **whose),
        request("DescribeProducers"),
        request("DescribeTransactions", transactional_ids=[nobody]),
        request("ListTransactions"),
    ]


def _administration(nobody: str) -> list[Struct]:
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
        request("UnregisterBroker", broker_id=NOBODY_ID),
        request("DescribeAcls", resource_type_filter=2, pattern_type_filter=3, operation=1, permission_type=1),
        request("CreateAcls"),
        request("DeleteAcls"),
        request("DescribeClientQuotas"),
        request("AlterClientQuotas", validate_only=True),
        request("DescribeUserScramCredentials", users=[{"name": nobody}]),
        request("AlterUserScramCredentials"),
        request("RenewDelegationToken", hmac=b"nobody"),
        request("ExpireDelegationToken", hmac=b"nobody"),
        request("DescribeDelegationToken", owners=[]),
    ]


def _newer_groups(nobody: str) -> list[Struct]:
    member = {"group_id": nobody, "member_id": "AAAAAAAAAAAAAAAAAAAAAQ", "member_epoch": -1}
    session = {"group_id": nobody, "member_id": "AAAAAAAAAAAAAAAAAAAAAQ", "share_session_epoch": -1}
    return [
        request("ConsumerGroupHeartbeat", **member),
        request("ShareGroupHeartbeat", **member),
        request("ShareGroupDescribe", group_ids=[nobody]),
        request("ShareFetch", max_wait_ms=0, max_bytes=1, **session),
        request("ShareAcknowledge", **session),
        request("DescribeShareGroupOffsets"),
        request("AlterShareGroupOffsets", group_id=nobody),
        request("DeleteShareGroupOffsets", group_id=nobody),
        request("StreamsGroupHeartbeat", **member),
        request("StreamsGroupDescribe", group_ids=[nobody]),
    ]
