"""Offset queries by time: ListOffsets with a timestamp (KIP-79)."""

from suites.case import case
from suites.probe import batch


@case("offsets/by-time-within-a-batch", guarantee="offs-002", apis={"ListOffsets": 1}, smoke=True)
def the_first_record_at_or_after_the_time(wire, topic):
    """A query by time MUST name the first record at or after it, even inside a batch, and nothing after the last.

    Three records, one second apart, in one batch: an answer that names the batch's base offset shows itself.
    """
    t = wire.now_ms() - 10_000
    wire.produce(topic, batch(at=[t, t + 1_000, t + 2_000]))

    wire.list_offsets(topic, at=t).must_name(offset=0, timestamp=t)
    wire.list_offsets(topic, at=t + 500).must_name(offset=1, timestamp=t + 1_000)
    wire.list_offsets(topic, at=t + 1_000).must_name(offset=1)
    wire.list_offsets(topic, at=t + 2_000).must_name(offset=2)
    wire.list_offsets(topic, at=t + 2_001).must_name(offset=-1, timestamp=-1)


@case("offsets/by-time-out-of-order", guarantee="offs-002", apis={"ListOffsets": 1})
def the_first_in_log_order_whatever_the_order_of_times(wire, topic, rng):
    """With times that go up and down a query MUST name the first record in log order that is at or after the time."""
    start = wire.now_ms() - 60_000
    times = [start + 1_000 * step for step in range(12)]
    rng.shuffle(times)
    for third in range(0, 12, 3):
        wire.produce(topic, batch(at=times[third : third + 3]))

    for asked in sorted(times):
        for moment in (asked - 1, asked, asked + 1):
            wire.list_offsets(topic, at=moment).must_name(offset=_first_at_or_after(times, moment))


@case("offsets/by-time-after-the-last", guarantee="offs-003", apis={"ListOffsets": 1})
def a_time_after_the_last_record_names_none(wire, topic):
    """A query for a time after the last record MUST answer offset -1 and timestamp -1, not the end of the log."""
    t = wire.now_ms() - 10_000
    wire.list_offsets(topic, at=t).must_name(offset=-1, timestamp=-1)
    wire.produce(topic, batch(at=[t]))
    wire.list_offsets(topic, at=t + 1).must_name(offset=-1, timestamp=-1)
    wire.list_offsets(topic, at="latest").must_name(offset=1)


def _first_at_or_after(times, moment):
    return next((offset for offset, time in enumerate(times) if time >= moment), -1)
