"""Both ends of a partition, and the record with the newest time (KIP-79, KIP-98, KIP-734)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED, batch


@case("offsets/ends", guarantee="offs-001", apis={"ListOffsets": 1, "DeleteRecords": 0}, smoke=True, detects=["M29a"])
def earliest_is_the_log_start_and_latest_the_high_watermark(wire, topic):
    """The earliest offset MUST be the log start and the latest the high watermark, as Fetch returns them.

    On a log that grows, and whose beginning is deleted in the middle of a batch.
    """
    wire.list_offsets(topic, at="latest").must_name(offset=0)
    wire.produce(topic, batch("a", "b", "c"))
    wire.list_offsets(topic, at="earliest").must_name(offset=0)
    wire.list_offsets(topic, at="latest").must_name(offset=3)
    wire.delete_records(topic, offset=2).must_succeed()
    wire.produce(topic, batch("d"))

    wire.list_offsets(topic, at="earliest").must_name(offset=2)
    wire.list_offsets(topic, at="latest").must_name(offset=4)
    answer = wire.fetch(topic, offset=2)
    answer.must_have("responses[0].partitions[0].high_watermark", 4)
    if answer.version >= 5:
        answer.must_have("responses[0].partitions[0].log_start_offset", 2)


@case(
    "offsets/latest-for-committed",
    guarantee="offs-001",
    apis={"ListOffsets": 2, "InitProducerId": 0, "EndTxn": 0},
    detects=["M29b"],
)
def latest_for_read_committed_is_the_last_stable_offset(wire, topic, transactional_id):
    """For read_committed the latest offset MUST be the last stable offset: where the oldest open transaction begins."""
    wire.produce(topic, batch("before"))
    producer = wire.producer(transactional_id)
    producer.send(topic, "open")
    wire.produce(topic, batch("after"))

    wire.list_offsets(topic, at="latest").must_name(offset=3)
    with wire.on_the_way("stable-end"):  # many wait for it
        wire.list_offsets(topic, at="latest", isolation=COMMITTED).must_name(offset=1)
    answer = wire.fetch(topic, isolation=COMMITTED).must_have("responses[0].partitions[0].last_stable_offset", 1)
    answer.must(max(answer.offsets) < 1, f"read_committed is given the offsets {answer.offsets}")
    producer.commit().must_succeed()
    wire.eventually(lambda: wire.list_offsets(topic, at="latest", isolation=COMMITTED).must_name(offset=4), within=20)


@case(
    "offsets/empty-partitions",
    guarantee="offs-006",
    apis={"ListOffsets": 1, "DeleteRecords": 0},
    detects=[edit_answer("topics[].partitions[].error_code", set=1, api="ListOffsets", skip=6)],
)
def an_empty_partition_has_ends_and_no_times(wire, topic):
    """On an empty partition earliest and latest MUST be the same offset, and a query by time MUST name none.

    Without an error, on a new partition and on one from which all was deleted.
    """
    for end in (0, 3):
        wire.list_offsets(topic, at="earliest").must_name(offset=end)
        wire.list_offsets(topic, at="latest").must_name(offset=end)
        for moment in (0, wire.now_ms() - 3_600_000):
            wire.list_offsets(topic, at=moment).must_name(offset=-1, timestamp=-1)
        if end == 0:
            wire.produce(topic, batch("a", "b", "c", timestamp=wire.now_ms()))
            wire.delete_records(topic, offset=3).must_succeed()


@case(
    "offsets/newest-time",
    guarantee="offs-005",
    apis={"ListOffsets": 7},
    detects=[edit_answer("topics[].partitions[].offset", set=5, api="ListOffsets", skip=2)],
)
def the_record_with_the_newest_time_is_found(wire, topic):
    """A query for the newest time MUST name a record that has it, and offset -1 on an empty partition.

    Times go down, up and down again, within batches and over them, compressed too.
    """
    wire.list_offsets(topic, at="max-timestamp").must_name(offset=-1, timestamp=-1)
    t = wire.now_ms() - 60_000
    wire.produce(topic, batch(at=[t + 2_000, t, t + 1_000]))
    wire.list_offsets(topic, at="max-timestamp").must_name(offset=0, timestamp=t + 2_000)
    wire.produce(topic, batch(at=[t + 1_000, t + 9_000, t + 3_000], compression="gzip"))
    wire.list_offsets(topic, at="max-timestamp").must_name(offset=4, timestamp=t + 9_000)
    wire.produce(topic, batch(at=[t + 4_000]))
    wire.list_offsets(topic, at="max-timestamp").must_name(offset=4, timestamp=t + 9_000)
