"""What older Kafkas served, where it differs from ours: enough to test negotiation, not a museum."""

from __future__ import annotations

_ANY = 1 << 15

# From Kafka 3.9's own message definitions.
_NEWEST: dict[str, dict[str, int]] = {
    "3.9": {
        "Produce": 11,
        "Fetch": 17,
        "ListOffsets": 9,
        "Metadata": 12,
        "OffsetCommit": 9,
        "OffsetFetch": 9,
        "DescribeGroups": 5,
        "InitProducerId": 5,
        "EndTxn": 4,
        "TxnOffsetCommit": 4,
        "DescribeCluster": 1,
        "DescribeLogDirs": 4,
        "ListTransactions": 1,
        "ConsumerGroupHeartbeat": 0,
        "ConsumerGroupDescribe": 0,
        "ListConfigResources": 0,
    },
}


def check(release: str) -> None:
    """Refuses a release that nobody can emulate."""
    if release != "4.4" and release not in _NEWEST:
        raise ValueError(f"--emulate {release}: 4.4 (as built) and {', '.join(_NEWEST)} can be emulated")


def newest(release: str, api: str) -> int:
    """The newest version of an API in that release; no limit where the table is silent."""
    return _NEWEST.get(release, {}).get(api, _ANY)
