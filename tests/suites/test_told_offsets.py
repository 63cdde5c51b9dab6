"""Offsets that the library counts on by itself, from an answer that had none, are not the broker's word."""

import pytest

from brokertrial.suites.workloads.writer import ReportedOffsets

HERE, THERE = ("t", 0), ("t", 1)


@pytest.mark.parametrize(
    ("reported", "told"),
    [
        ([5, 6, 7], [5, 6, 7]),
        ([-1, 0, 1, 2], [None] * 4),
        ([None, 0, 1], [None] * 3),
        ([0, 1, 2], [0, 1, 2]),  # the beginning of a log
        ([-1, 0, 1, 7, 8], [None, None, None, 7, 8]),
        ([-1, 5, 6], [None, 5, 6]),
        ([-1, 0, 0], [None, None, 0]),  # the second 0 is of another answer
        ([-1, -1, 0], [None] * 3),
    ],
)
def test_only_what_an_answer_named_counts(reported, told):
    offsets = ReportedOffsets()
    assert [offsets.offset(HERE, offset) for offset in reported] == told


def test_partitions_count_apart():
    offsets = ReportedOffsets()
    assert [offsets.offset(HERE, -1), offsets.offset(THERE, 0), offsets.offset(HERE, 0)] == [None, 0, None]
