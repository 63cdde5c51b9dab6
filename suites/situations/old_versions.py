"""The client is an old one: it knows each API as its release did, and everything that it can do means the same.

    draw 1    a client of Kafka 1.0
    draw 2    a client of Kafka 2.1
    draw 3    a client of Kafka 2.8

What the release had not yet (consumer groups of KIP-848, for one) is asked for as it is today. The helpers of the probe
choose by what both sides know, so that steps that belong together come in versions that one client would send.
"""

from __future__ import annotations

from collections.abc import Mapping

from brokertrial.suites.situations.acting import ActingSituation

CLIENTS: Mapping[str, tuple[int, int, int]] = {
    "Produce": (5, 7, 9),
    "Fetch": (6, 10, 12),
    "ListOffsets": (2, 4, 6),
    "Metadata": (5, 7, 11),
    "OffsetCommit": (3, 6, 8),
    "OffsetFetch": (3, 5, 7),
    "FindCoordinator": (1, 2, 3),
    "JoinGroup": (2, 3, 7),
    "Heartbeat": (1, 2, 4),
    "LeaveGroup": (1, 2, 4),
    "SyncGroup": (1, 2, 5),
    "DescribeGroups": (1, 2, 5),
    "ListGroups": (1, 2, 4),
    "CreateTopics": (2, 3, 7),
    "DeleteTopics": (1, 3, 6),
    "DeleteRecords": (0, 1, 2),
    "InitProducerId": (0, 1, 4),
    "OffsetForLeaderEpoch": (0, 2, 4),
    "AddPartitionsToTxn": (0, 1, 3),
    "AddOffsetsToTxn": (0, 1, 3),
    "EndTxn": (0, 1, 3),
    "TxnOffsetCommit": (0, 2, 3),
    "DescribeConfigs": (0, 2, 4),
    "AlterConfigs": (0, 1, 2),
    "CreatePartitions": (0, 1, 3),
    "DescribeLogDirs": (0, 1, 2),
    "DeleteGroups": (0, 1, 2),
}
"""The newest version of each API in the clients of 1.0, 2.1 and 2.8 (the message definitions of these releases)."""


class OldVersions(ActingSituation):
    """The newest version that the old client and the broker know; where they share none, the broker's oldest."""

    def newest(self, api: str, low: int, high: int) -> int:
        known = CLIENTS.get(api)
        if known is None or not low <= high:
            return high
        chosen = min(high, max(low, known[self.number - 1]))
        self.effects += chosen < high and not self._suspended
        return chosen


SITUATION = OldVersions
