"""The high watermark and the log start, as Fetch and ListOffsets return them."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch

HIGH_WATERMARK = "responses[0].partitions[0].high_watermark"


@case(
    "fetch/below-the-high-watermark",
    guarantee="fetch-001",
    detects=[edit_answer("responses[].partitions[].high_watermark", add=-2, api="Fetch")],
)
def consumers_see_only_what_is_committed(wire, topic):
    """Records given to a consumer MUST lie below the high watermark of every answer that comes after them.

    An answer may hold records above its own high watermark, for that is read first: a later answer counts.
    """
    for number in range(4):
        pending = [wire.produce(topic, batch(f"{number}-{n}"), wait=False) for n in range(3)]
        given = wire.fetch(topic, offset=3 * number, max_wait_ms=5_000, min_bytes=1, via="reader")
        highest = max(given.offsets, default=-1)
        for answer in pending:
            answer.must_succeed()
        later = wire.fetch(topic, offset=3 * number, via="reader")
        later.must(
            highest < later.high_watermark,
            f"offset {highest} was given out before, and the high watermark is {later.high_watermark}",
            HIGH_WATERMARK,
        )
    wire.read_all(topic).must_have_offsets(range(12))
    wire.fetch(topic).must_have(HIGH_WATERMARK, 12)


@case(
    "fetch/watermarks-never-fall",
    guarantee="fetch-010",
    apis={"DeleteRecords": 0, "Fetch": 5},
    detects=[edit_answer("responses[].partitions[].high_watermark", add=-4, api="Fetch", skip=4, times=1)],
)
def high_watermark_and_log_start_never_fall(wire, topic):
    """Within a leader epoch the high watermark MUST NOT fall, and the log start MUST NOT fall for one topic.

    Each answer is complete before the next question leaves. Over three connections, while the log grows and is cut.
    """
    highest = start = 0
    for number in range(6):
        wire.produce(topic, batch("a", "b", "c"))
        if number % 2:
            wire.delete_records(topic, offset=2 * number).must_succeed()
        seen = wire.fetch(topic, offset=3 * number, via=f"c{number % 3}")
        ends = (seen.log_start_offset, seen.high_watermark)
        seen.must(
            ends[0] >= start and ends[1] >= highest,
            f"log start and high watermark are {ends}; they were {(start, highest)} before",
            HIGH_WATERMARK,
        )
        start, highest = ends
    wire.list_offsets(topic, at="latest").must_name(offset=highest)
    wire.list_offsets(topic, at="earliest").must_name(offset=start)
    wire.must((start, highest) == (10, 18), f"log start and high watermark are {(start, highest)}")
