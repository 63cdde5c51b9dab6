"""What older Kafkas served, where it differs from ours: the newest version of each API, and the features they had.

The numbers are those of Kafka's own message definitions, release by release, as franz-go's kversion keeps them too.
Only the newest versions are capped: Kafka before 4.0 also served older ones than this broker knows.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import NamedTuple

ABSENT = -1
_FOLLOWERS_FETCH = 17
LATEST = "4.4"


class EmulatedRelease(NamedTuple):
    """One release: newest versions where they differ from ours (ABSENT: no such API), and its feature levels."""

    newest: dict[str, int]
    metadata_version: int
    group_version: int
    transaction_version: int


_SINCE_4_0 = {
    "OffsetCommit": 9, "OffsetFetch": 9, "WriteTxnMarkers": 1, "ApiVersions": 4, "DeleteGroups": 2,
    "TxnOffsetCommit": 5, "DescribeLogDirs": 4,
}  # fmt: skip

_4_2 = {"ApiVersions": 4, "DeleteGroups": 2, "TxnOffsetCommit": 5, "DescribeLogDirs": 4}
_4_0 = _SINCE_4_0 | {
    "Produce": 12, "Fetch": 17, "ListOffsets": 10, "ListTransactions": 1, "ListConfigResources": 0,
    "AlterPartitionReassignments": 0,
}  # fmt: skip
_3_9 = _4_0 | {
    "Produce": 11, "ListOffsets": 9, "Metadata": 12, "DescribeGroups": 5, "EndTxn": 4, "TxnOffsetCommit": 4,
    "DescribeCluster": 1, "ConsumerGroupHeartbeat": 0, "ConsumerGroupDescribe": 0,
}  # fmt: skip
_2_1 = {
    "Produce": 7, "Fetch": 10, "ListOffsets": 4, "Metadata": 7, "OffsetCommit": 6, "OffsetFetch": 5,
    "FindCoordinator": 2, "JoinGroup": 3, "Heartbeat": 2, "LeaveGroup": 2, "SyncGroup": 2, "DescribeGroups": 2,
    "ListGroups": 2, "ApiVersions": 2, "CreateTopics": 3, "DeleteTopics": 3, "DeleteRecords": 1, "InitProducerId": 1,
    "OffsetForLeaderEpoch": 2, "AddPartitionsToTxn": 1, "AddOffsetsToTxn": 1, "EndTxn": 1, "WriteTxnMarkers": 0,
    "TxnOffsetCommit": 2, "DescribeConfigs": 2, "AlterConfigs": 1, "DescribeLogDirs": 1, "CreatePartitions": 1,
    "DeleteGroups": 1, "ElectLeaders": ABSENT, "IncrementalAlterConfigs": ABSENT, "OffsetDelete": ABSENT,
    "AlterPartitionReassignments": ABSENT, "ListPartitionReassignments": ABSENT, "DescribeCluster": ABSENT,
    "DescribeProducers": ABSENT, "DescribeTransactions": ABSENT, "ListTransactions": ABSENT,
    "ConsumerGroupHeartbeat": ABSENT, "ConsumerGroupDescribe": ABSENT, "ListConfigResources": ABSENT,
    "DescribeTopicPartitions": ABSENT,
}  # fmt: skip

RELEASES = MappingProxyType(
    {
        "2.1": EmulatedRelease(_2_1, 0, 0, 0),
        "3.9": EmulatedRelease(_3_9, 21, 0, 0),
        "4.0": EmulatedRelease(_4_0, 25, 1, 2),
        "4.2": EmulatedRelease(_4_2, 29, 1, 2),
        LATEST: EmulatedRelease({}, 33, 1, 2),
    }
)


def check(release: str, *, in_cluster: bool = False) -> None:
    """Refuses a release that nobody can emulate, and in a cluster one whose Fetch followers cannot use."""
    if release not in RELEASES:
        older = ", ".join(name for name in RELEASES if name != LATEST)
        raise ValueError(f"--emulate {release}: {LATEST} (as built) and {older} can be emulated")
    if in_cluster and newest(release, "Fetch", _FOLLOWERS_FETCH) < _FOLLOWERS_FETCH:
        raise ValueError(f"--emulate {release} is for one node: followers need Fetch v{_FOLLOWERS_FETCH}")


def newest(release: str, api: str, ours: int) -> int:
    """The newest version of an API in that release; ours where the table is silent, ABSENT where it has none."""
    return min(ours, RELEASES[release].newest.get(api, ours))


def levels(release: str, group_version: int, transaction_version: int) -> dict[str, tuple[int, int, int]]:
    """Feature -> lowest, highest and finalized level: what was configured, as far as that release could go."""
    r = RELEASES[release]
    return {
        "group.version": (0, r.group_version, min(group_version, r.group_version)),
        "metadata.version": (min(7, r.metadata_version), r.metadata_version, r.metadata_version),
        "transaction.version": (0, r.transaction_version, min(transaction_version, r.transaction_version)),
    }
