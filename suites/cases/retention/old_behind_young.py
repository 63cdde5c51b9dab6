"""Old records behind young ones, as a mirror or a backfill brings them: what is behind a young segment stays."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.retention.limits import CHECKS, HOUR_MS, WITHIN_S, wait_for_a_check
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import SET, TOPIC

SEGMENT_BYTES = 1 << 20
"""The least that Apache Kafka allows since 4.0 (KIP-1030)."""
LARGE = 600_000
"""Bytes of a record of which no two fit into a segment."""
PARTITIONS, SEGMENTS, LIMITS = 2, 8, 3
OLDEST_H = 40


@case(
    "retention/old-behind-young",
    guarantees=["ret-003", "ret-001", "ret-004"],
    apis={"IncrementalAlterConfigs": 0},
    needs=["topic-settings", "partitions"],
    detects=["B316"],
)
def what_is_behind_a_young_segment_stays(wire, topic_of, rng):
    """However many segments are too old, those behind a segment that is young enough MUST stay with it, and those
    before the first young one MUST be deleted.

    Two partitions of eight segments whose ages are drawn; the limit is lowered three times.
    """
    wire.needs_setting(CHECKS, at_most=5_000)
    topic = topic_of(
        partitions=PARTITIONS,
        configs={"segment.bytes": str(SEGMENT_BYTES), "retention.ms": str(2 * OLDEST_H * HOUR_MS)},
    )
    now = wire.now_ms()
    ages = [[2 * age for age in rng.sample(range(1, OLDEST_H // 2), SEGMENTS)] for _ in range(PARTITIONS)]
    for partition, hours in enumerate(ages):
        for offset, age in enumerate(hours):
            made = batch("x" * LARGE, timestamp=now - age * HOUR_MS)
            wire.produce(topic, made, partition).must_be_at(offset)

    for limit in _limits(ages):
        wire.change_configs(TOPIC, topic, [("retention.ms", SET, str(limit * HOUR_MS))]).must_succeed()
        starts = [_first_younger(hours, limit) for hours in ages]
        wire.until(
            lambda starts=starts: all(wire.log_start(topic, number) >= at for number, at in enumerate(starts)),
            within=WITHIN_S,
            what=f"the logs begin at {starts}, at the first record of less than {limit} hours",
        )
        wait_for_a_check(wire, topic_of)
        for partition, start in enumerate(starts):
            wire.list_offsets(topic, partition, at="earliest").must_name(offset=start)
            wire.read_all(topic, partition).must_have_offsets(range(start, SEGMENTS))


def _limits(ages):
    """Hours between two ages: just below the age of a segment that is the first, in one partition after the other."""
    found, limit = [], 2 * OLDEST_H
    for turn in range(LIMITS):
        hours = ages[turn % PARTITIONS]
        limit = (
            min(limit, hours[_first_younger(hours, limit)] - 1) if _first_younger(hours, limit) < SEGMENTS else limit
        )
        found.append(limit)
    return found


def _first_younger(hours, limit):
    return next((number for number, age in enumerate(hours) if age < limit), len(hours))
