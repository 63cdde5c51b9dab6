"""Which cases are about a feature: those that `[claims] x = false` takes away, and that show whether a claim holds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase

import msgspec


class Feature(msgspec.Struct, frozen=True):
    """The APIs that only this feature has, and cases that are about it though they need no such API."""

    apis: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()
    """Features that cannot be there without it."""
    idle: tuple[str, ...] = ()
    """Those of its cases that pass as well where the feature does nothing at all: they show nothing of it."""


FEATURES: dict[str, Feature] = {
    "idempotence": Feature(("InitProducerId",), ("idempotence/*",), includes=("transactions",)),
    "transactions": Feature(
        (
            *("AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn", "TxnOffsetCommit"),
            *("DescribeTransactions", "ListTransactions"),
        ),
        ("transactions/*",),
    ),
    "groups": Feature(("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup")),
    "consumer-protocol": Feature(("ConsumerGroupHeartbeat", "ConsumerGroupDescribe"), ("groups/consumer-*",)),
    "share-groups": Feature(("ShareGroupHeartbeat", "ShareFetch", "ShareAcknowledge")),
    "commits": Feature(("OffsetCommit", "OffsetFetch", "OffsetDelete"), ("commits/*",)),
    "admin": Feature(
        ("DeleteTopics", "CreatePartitions"),
        ("admin/created-*", "admin/*creation*", "admin/*names*", "admin/broker-defaults"),
    ),
    "configs": Feature(("DescribeConfigs", "AlterConfigs", "IncrementalAlterConfigs")),
    "delete-records": Feature(("DeleteRecords",)),
    "timestamps": Feature((), ("offsets/by-time-*", "offsets/newest-time")),
    "retention": Feature((), ("retention/*",), idle=("retention/off", "retention/reading-deletes-nothing")),
    "compaction": Feature((), ("compaction/*",), idle=("compaction/no-key-no-entry",)),
}
"""By the names of suites/targets/base.py."""


def of_case(case_id: str, apis: Iterable[str]) -> list[str]:
    """The features that a case which needs these APIs is about."""
    needed = set(apis)
    return [
        name
        for name, feature in FEATURES.items()
        if needed & set(feature.apis) or any(fnmatchcase(case_id, pattern) for pattern in feature.cases)
    ]


def disclaimed(case_id: str, apis: Mapping[str, int], without: Collection[str]) -> str:
    """The first feature of the case that the target says it has not; empty where there is none."""
    lost = {other for name in without if name in FEATURES for other in (name, *FEATURES[name].includes)}
    mine = [name for name in of_case(case_id, apis) if name in lost]
    told = [name for name in mine if name in without]
    return (told or ["idempotence"])[0] if mine else ""
