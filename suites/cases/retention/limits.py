"""Retention by time and by size: what is too old or too much goes, oldest first, and nothing else.

Records are dated: an hour between two batches begins a new segment, and old dates make records due at once.
"""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors

HOUR_MS = 3_600_000
CHECKS = "log.retention.check.interval.ms"
SEGMENTS = {"segment.ms": "60000"}
WITHIN_S = 60


@case("retention/by-time", guarantees=["ret-001", "ret-004"], needs=["topic-settings"], smoke=True, detects=["M35d"])
def what_is_too_old_goes_and_nothing_else(wire, topic_of):
    """Records older than retention.ms MUST become inaccessible, from the oldest on, and younger ones MUST stay.

    Eight batches, five of them too old. A position that is gone is out of range; the rest has no hole.
    """
    wire.needs_setting(CHECKS, at_most=5_000)
    topic = topic_of(configs={**SEGMENTS, "retention.ms": str(4 * HOUR_MS)})
    now = wire.now_ms()
    dated(wire, topic, [now - 9 * HOUR_MS + n * HOUR_MS for n in range(5)] + [now - n * HOUR_MS for n in (3, 2, 1)])

    wire.until(lambda: wire.log_start(topic) >= 10, within=WITHIN_S, what="the log start passed the old records")
    wire.list_offsets(topic, at="earliest").must_name(offset=10)
    wire.fetch(topic, offset=9).must_be_refused(errors.OFFSET_OUT_OF_RANGE)
    wire.read_all(topic).must_have_offsets(range(10, 16))


@case("retention/by-size", guarantees=["ret-002", "ret-003"], needs=["partitions"], detects=["M35a"])
def a_partition_is_cut_to_its_size_and_no_further(wire, topic_of):
    """A partition MUST shrink to retention.bytes by losing its oldest segments, and MUST NOT lose more than that.

    One partition is filled with ten segments, and five fit; the other holds little and keeps it.
    """
    wire.needs_setting(CHECKS, at_most=5_000)
    made = batch("x" * 10_000, timestamp=wire.now_ms())
    topic = topic_of(partitions=2, configs={**SEGMENTS, "retention.ms": "-1", "retention.bytes": str(5 * len(made))})
    now = wire.now_ms()
    wire.produce(topic, batch(at=[now - HOUR_MS]), 1)
    for pending in [
        wire.produce(topic, batch("x" * 10_000, timestamp=now - (10 - n) * HOUR_MS), wait=False) for n in range(10)
    ]:
        pending.must_succeed()

    wire.until(lambda: wire.log_start(topic) >= 4, within=WITHIN_S, what="the log start rose to fit retention.bytes")
    wait_for_a_check(wire, topic_of)
    start = wire.log_start(topic)
    wire.must(start <= 5, f"the log start is {start}; five segments of ten fit, so that it must not pass 5")
    wire.read_all(topic).must_have_offsets(range(start, 10))
    wire.read_all(topic, 1).must_have_offsets(range(1))


@case(
    "retention/off",
    guarantees=["ret-009", "ret-003"],
    needs=["topic-settings"],
    detects=[edit_answer("topics[].partitions[].offset", add=1, api="ListOffsets", skip=6)],
)
def without_limits_nothing_goes(wire, topic_of):
    """With retention.ms=-1 and retention.bytes=-1 a topic MUST keep everything, however old.

    The records are of 1970. Another topic, whose records go meanwhile, shows that retention has looked.
    """
    wire.needs_setting(CHECKS, at_most=5_000)
    topic = topic_of(configs={**SEGMENTS, "retention.ms": "-1", "retention.bytes": "-1"})
    dated(wire, topic, [1_000 + n * HOUR_MS for n in range(4)])
    wait_for_a_check(wire, topic_of)
    wait_for_a_check(wire, topic_of)
    wire.list_offsets(topic, at="earliest").must_name(offset=0)
    wire.read_all(topic).must_have_offsets(range(8))


@case("retention/lost-position", guarantee="ret-007", needs=["topic-settings"], detects=["M37a"])
def a_reader_whose_position_went_is_refused_and_can_go_on(wire, topic_of):
    """A reader whose position was deleted MUST be refused with OFFSET_OUT_OF_RANGE (1), and MUST be able to go on at
    either end.

    Retention has passed the position; the reader begins anew at the earliest offset, and waits at the latest.
    """
    wire.needs_setting(CHECKS, at_most=5_000)
    topic = topic_of(configs={**SEGMENTS, "retention.ms": str(4 * HOUR_MS)})
    now = wire.now_ms()
    dated(wire, topic, [now - 6 * HOUR_MS, now - 5 * HOUR_MS, now])

    wire.until(lambda: wire.log_start(topic) >= 4, within=WITHIN_S, what="the log start passed the old records")
    wire.fetch(topic, offset=2, max_wait_ms=3_000, min_bytes=1).must_be_refused(errors.OFFSET_OUT_OF_RANGE)
    wire.read_all(topic, offset=wire.log_start(topic)).must_have_offsets([4, 5])
    waiting = wire.fetch(topic, offset=wire.log_end(topic), max_wait_ms=20_000, min_bytes=1, via="r", wait=False)
    wire.produce(topic, batch("new", timestamp=now))
    waiting.must_hold("new")


@case(
    "retention/reading-deletes-nothing",
    guarantee="ret-008",
    apis={"OffsetCommit": 2},
    detects=["M29a"],
)
def reading_and_committing_deletes_nothing(wire, topic):
    """Reading and committing MUST NOT delete: a group that comes later gets every record from the beginning."""
    wire.produce(topic, batch("a", "b", "c"))
    for reader in ("first", "second"):
        group = wire.name(reader)
        wire.committed(group, topic).must_be(-1)
        wire.list_offsets(topic, at="earliest").must_name(offset=0)
        wire.read_all(topic).must_hold("a", "b", "c")
        wire.commit(group, topic, offset=3)


def dated(wire, topic, times):
    """Two records at each of these times, a batch each."""
    for pending in [wire.produce(topic, batch(at=[t, t]), wait=False) for t in times]:
        if pending.error == errors.INVALID_TIMESTAMP:
            wire.not_applicable("the broker takes no records with old times", "unsupported")
        pending.must_succeed()


def wait_for_a_check(wire, topic_of):
    """Another topic, with records that are due at once, and until they are gone."""
    other = topic_of(configs={**SEGMENTS, "retention.ms": "60000"}, what="due")
    dated(wire, other, [wire.now_ms() - HOUR_MS])
    wire.until(lambda: wire.log_start(other) >= 2, within=WITHIN_S, what="records that are due are deleted")
