"""Which brokers hold the replicas of new partitions: round robin, so that leaders and followers are spread evenly."""

from __future__ import annotations


def spread(brokers: list[int], count: int, factor: int, first: int) -> list[list[int]]:
    """`count` replica lists of `factor` brokers each; `first` shifts the start from topic to topic."""
    total = len(brokers)
    return [[brokers[(first + index + step) % total] for step in range(factor)] for index in range(count)]
