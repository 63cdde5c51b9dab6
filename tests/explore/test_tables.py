"""The tables of the exploration name what exists: APIs, error codes, guarantees."""

from __future__ import annotations

import pytest

from brokertrial.suites.explore import promises
from brokertrial.suites.explore.coverage import api_rows, documented, never_reached
from brokertrial.suites.explore.families import rules
from brokertrial.suites.guarantees import registry
from brokertrial.wire import errors
from brokertrial.wire.apis import ALL

#: What release 1 needs of a broker.
NEEDED = {
    "Produce", "Fetch", "ListOffsets", "Metadata", "OffsetCommit", "OffsetFetch", "FindCoordinator", "JoinGroup",
    "Heartbeat", "LeaveGroup", "SyncGroup", "DescribeGroups", "ListGroups", "ApiVersions", "CreateTopics",
    "DeleteTopics", "DeleteRecords", "InitProducerId", "OffsetForLeaderEpoch", "AddPartitionsToTxn",
    "AddOffsetsToTxn", "EndTxn", "TxnOffsetCommit", "DescribeConfigs", "IncrementalAlterConfigs",
    "CreatePartitions", "DeleteGroups", "DescribeCluster", "DescribeProducers", "DescribeTransactions",
    "ListTransactions", "ConsumerGroupHeartbeat", "ConsumerGroupDescribe",
}  # fmt: skip


def test_every_api_that_release_1_needs_has_a_rule() -> None:
    assert NEEDED - {rule.api for rule in rules()} == set()


def test_what_is_documented_are_codes_and_apis_that_exist() -> None:
    codes = {errors.name(code) for code in range(-1, 200)}
    assert documented().keys() <= {api.name for api in ALL}
    assert {code for each in documented().values() for code in each} <= codes


@pytest.mark.parametrize("harm", promises.table(), ids=lambda harm: f"{harm.api}-{harm.field}")
def test_what_harms_breaks_a_guarantee_that_is_registered(harm: promises.BrokenPromise) -> None:
    assert harm.guarantee in registry()


def test_coverage_names_what_was_never_reached_and_what_it_takes() -> None:
    reached = [("DeleteRecords", 2, "OFFSET_OUT_OF_RANGE", "", 3), ("DeleteRecords", 2, "NONE", "", 4)]
    (row,) = api_rows(reached, {"DeleteRecords": (0, 2)})
    assert (row.requests, row.versions) == (7, "0 to 2 (never 0, 1)")
    never = never_reached(reached)["DeleteRecords"]
    assert "NOT_LEADER_OR_FOLLOWER (needs another node)" in never
    assert not any("OFFSET_OUT_OF_RANGE" in code for code in never)
