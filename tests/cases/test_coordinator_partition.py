"""Which partition of __consumer_offsets a group is coordinated in, as Kafka works it out."""

from __future__ import annotations

import pytest

from brokertrial.suites.probe.coordinator_writes import coordinator_partition


@pytest.mark.parametrize(
    ("group", "hash_code"),
    [("", 0), ("a", 97), ("hello", 99162322), ("my-group", 1906497762), ("polygenelubricants", 0)],
    ids=["empty", "one letter", "positive", "negative", "the least integer"],
)
def test_the_hash_is_that_of_java(group: str, hash_code: int) -> None:
    """`hash_code`: Utils.abs of what String.hashCode gives; that of the least integer is 0."""
    assert coordinator_partition(group, 1 << 31) == hash_code
    assert coordinator_partition(group, 50) == hash_code % 50
