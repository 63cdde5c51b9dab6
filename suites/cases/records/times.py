"""Whose time counts, and which times are out of bounds (KIP-32, KIP-937)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.records import Record

HOUR = 3_600_000


@case("records/log-append-time", guarantee="rec-003", detects=["M39e"])
def the_brokers_time_replaces_the_producers(wire, topic_of):
    """On topics with LogAppendTime a stored batch MUST have that timestamp type, and its records MUST have one time:
    that of the append.

    Sent are a batch from long ago, one from the future, a compressed one; clocks may be two minutes apart.
    """
    topic = topic_of(configs={"message.timestamp.type": "LogAppendTime"})
    before = wire.now_ms()
    for number, (time, codec) in enumerate([(1_000, "none"), (before + 48 * HOUR, "none"), (before, "gzip")]):
        records = [Record(None, b"v", timestamp=time + step) for step in range(3)]
        wire.produce(topic, batch(records=records, compression=codec)).must_be_at(3 * number)
    after = wire.now_ms()
    log = wire.read_all(topic).must_have_offsets(range(9))
    for part in log.batches:
        log.must(part.header.timestamp_type == "append", f"the batch at {part.header.base_offset} says CreateTime")
        log.must(part.crc_ok(), f"the checksum of the batch at {part.header.base_offset} does not hold")
    for first in range(0, 9, 3):
        times = {record.timestamp for record in log.records[first : first + 3]}
        log.must(len(times) == 1, f"one batch has the times {sorted(times)}; it must have one")
        log.must(
            before - 120_000 <= min(times) <= after + 120_000,
            f"the batch at offset {first} has the time {min(times)}; it was produced between {before} and {after}",
        )


@case(
    "records/time-out-of-bounds",
    guarantee="rec-004",
    needs=["topic-settings"],
    since="3.6 (KIP-937)",
    detects=[edit_answer("responses[].partition_responses[].error_code", set=0, api="Produce")],
)
def a_time_out_of_bounds_is_refused(wire, topic_of):
    """A record older or newer than the topic allows MUST be refused with INVALID_TIMESTAMP, and its batch with it.

    The bounds are an hour each; what is refused or taken lies well beside them, for the clocks may differ.
    """
    bounds = {"message.timestamp.before.max.ms": str(HOUR), "message.timestamp.after.max.ms": str(HOUR)}
    topic = topic_of(configs={**bounds, "message.timestamp.type": "CreateTime"})
    now = wire.now_ms()
    wire.produce(topic, batch("inside", timestamp=now)).must_be_at(0)
    for wrong in (now - 2 * HOUR, now + 2 * HOUR, 0):
        wire.produce(topic, batch(at=[now, wrong])).must_be_refused(errors.INVALID_TIMESTAMP)
    wire.produce(topic, batch("early", timestamp=now - HOUR // 2)).must_be_at(1)
    wire.produce(topic, batch("late", timestamp=now + HOUR // 2)).must_be_at(2)
    wire.read_all(topic).must_hold("inside", "early", "late")
