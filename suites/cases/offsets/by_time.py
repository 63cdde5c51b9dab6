"""Offset queries by time: ListOffsets with a timestamp (KIP-79)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED, batch


@case("offsets/by-time-within-a-batch", guarantee="offs-002", apis={"ListOffsets": 1}, smoke=True, detects=["M30b"])
def the_first_record_at_or_after_the_time(wire, topic):
    """A query by time MUST name the first record at or after it, even inside a batch, and nothing after the last.

    Three records, one second apart, in one batch: an answer that names the batch's base offset shows itself.
    """
    t = wire.now_ms() - 10_000
    wire.produce(topic, batch(at=[t, t + 1_000, t + 2_000]))

    with wire.part("the first"):
        wire.list_offsets(topic, at=t).must_name(offset=0, timestamp=t)
    with wire.part("between two"):
        wire.list_offsets(topic, at=t + 500).must_name(offset=1, timestamp=t + 1_000)
    for offset in (1, 2):
        with wire.part(f"number {offset}"):
            wire.list_offsets(topic, at=t + 1_000 * offset).must_name(offset=offset)
    with wire.part("after the last"):
        wire.list_offsets(topic, at=t + 2_001).must_name(offset=-1, timestamp=-1)


@case("offsets/by-time-out-of-order", guarantee="offs-002", apis={"ListOffsets": 1}, detects=["M30a"])
def the_first_in_log_order_whatever_the_order_of_times(wire, topic):
    """With times that go up and down a query MUST name the first record in log order that is at or after the time."""
    start = wire.now_ms() - 60_000
    times = [start + 1_000 * step for step in (3, 0, 5, 1, 7, 4, 8, 2, 11, 9, 6, 10)]
    for third in range(0, 12, 3):
        wire.produce(topic, batch(at=times[third : third + 3]))

    moments = [moment for asked in sorted(times) for moment in (asked - 1, asked, asked + 1)]
    for moment, answer in [(moment, wire.list_offsets(topic, at=moment, wait=False)) for moment in moments]:
        with wire.part(f"{moment - start} ms"):
            answer.must_name(offset=_first_at_or_after(times, moment))


@case("offsets/by-time-after-the-last", guarantee="offs-003", apis={"ListOffsets": 1}, detects=["M30c"])
def a_time_after_the_last_record_names_none(wire, topic):
    """A query for a time after the last record MUST answer offset -1 and timestamp -1, not the end of the log."""
    t = wire.now_ms() - 10_000
    wire.list_offsets(topic, at=t).must_name(offset=-1, timestamp=-1)
    wire.produce(topic, batch(at=[t]))
    wire.list_offsets(topic, at=t + 1).must_name(offset=-1, timestamp=-1)
    wire.list_offsets(topic, at="latest").must_name(offset=1)


@case(
    "offsets/by-time-after-a-cut",
    guarantee="offs-004",
    apis={"ListOffsets": 1, "DeleteRecords": 0},
    smoke=True,
    detects=["M30d"],
)
def a_query_by_time_never_names_what_was_deleted(wire, topic):
    """A query by time MUST NOT name an offset below the log start, also where the log start is inside a batch."""
    t = wire.now_ms() - 10_000
    wire.produce(topic, batch(at=[t, t + 1_000, t + 2_000]))
    wire.produce(topic, batch(at=[t + 3_000]))

    for start in (1, 3):
        wire.delete_records(topic, offset=start).must_succeed()
        for moment in (0, t, t + 1_000):
            wire.list_offsets(topic, at=moment).must_name(offset=start, timestamp=t + 1_000 * start)
    wire.delete_records(topic, offset=-1).must_succeed()
    wire.list_offsets(topic, at=t).must_name(offset=-1, timestamp=-1)


@case(
    "offsets/by-time-above-the-stable",
    guarantee="offs-004",
    apis={"ListOffsets": 2, "InitProducerId": 0, "EndTxn": 0},
    detects=["M17"],
)
def a_committed_query_by_time_stops_at_the_last_stable_offset(wire, topic, transactional_id):
    """A query by time for read_committed MUST NOT name an offset at or above the last stable offset.

    An open transaction begins at offset 1; read_uncommitted finds its record.
    """
    t = wire.now_ms() - 10_000
    wire.produce(topic, batch(at=[t]))
    producer = wire.producer(transactional_id)
    producer.send(topic, "open", timestamp=t + 1_000)

    wire.list_offsets(topic, at=t + 500).must_name(offset=1, timestamp=t + 1_000)
    wire.list_offsets(topic, at=t + 500, isolation=COMMITTED).must_name(offset=-1)
    wire.list_offsets(topic, at=t, isolation=COMMITTED).must_name(offset=0)
    producer.commit().must_succeed()
    wire.eventually(lambda: wire.list_offsets(topic, at=t + 500, isolation=COMMITTED).must_name(offset=1), within=20)


def _first_at_or_after(times, moment):
    return next((offset for offset, time in enumerate(times) if time >= moment), -1)
