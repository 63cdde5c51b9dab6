"""Queries in a log of many segments and many index entries: by time, by newest time, by leader epoch (KIP-79, 734)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.cases.retention.limits import CHECKS, WITHIN_S
from brokertrial.suites.probe import batch
from brokertrial.wire.records import Record

HOUR_MS = 3_600_000
SMALL = {"segment.ms": "60000", "index.interval.bytes": "1", "retention.ms": "-1"}
SEGMENTS, EACH, CUT = 6, 30, 3
NAMED = "topics[].partitions[].offset"


@case(
    "offsets/by-time-across-segments",
    guarantees=["offs-002", "offs-004"],
    apis={"ListOffsets": 1, "DeleteRecords": 0},
    needs=["topic-settings"],
    detects=["M30d", edit_answer(NAMED, add=1, api="ListOffsets", skip=2)],
)
def a_time_is_found_in_every_segment(wire, topic_of, rng):
    """A query by time MUST name the first record at or after it wherever in the log it lies: in each segment, on each
    edge between two, and behind a log start that was moved into the middle of one.

    180 batches of one record in six segments; within a segment the times go up and down, but for the one that is cut.
    Apache Kafka looks into segments below the log start, too, until they are deleted.
    """
    wire.needs_setting(CHECKS, at_most=5_000)
    topic = topic_of(configs=SMALL)
    begin = wire.now_ms() - 12 * HOUR_MS
    times = []
    for segment in range(SEGMENTS):
        steps = list(range(EACH))
        if segment != CUT:
            rng.shuffle(steps)
        times += [begin + segment * HOUR_MS + 1_000 * step for step in steps]
    _written(wire, topic, times)

    edges = [begin + segment * HOUR_MS + offset for segment in range(SEGMENTS) for offset in (-1, 0, 1)]
    asked = sorted({*rng.sample(times, 40), *(time + 500 for time in rng.sample(times, 20)), *edges, max(times) + 1})
    _must_be_found(wire, topic, times, asked, start=0)
    start = CUT * EACH + EACH // 2
    wire.delete_records(topic, offset=start).must_succeed()
    wire.eventually(lambda: wire.list_offsets(topic, at=begin).must_name(offset=start), within=WITHIN_S)
    _must_be_found(wire, topic, times, asked, start)


@case(
    "offsets/newest-time-across-segments",
    guarantee="offs-005",
    apis={"ListOffsets": 7, "DeleteRecords": 0},
    needs=["topic-settings"],
    detects=["P48", edit_answer(NAMED, add=1, api="ListOffsets", skip=2)],
)
def the_newest_time_may_lie_in_an_old_segment(wire, topic_of):
    """A query for the newest time MUST return the record that has it, though it lies in an old segment and in the
    middle of a batch; and when that segment is deleted, the newest of the remaining records.
    """
    wire.needs_setting(CHECKS, at_most=5_000)
    topic = topic_of(configs={"segment.bytes": "1048576", "segment.ms": str(1_000 * HOUR_MS), "retention.ms": "-1"})
    now = wire.now_ms() - 10 * HOUR_MS
    hours = (0, 2, 8, 4, 6, 5)
    for hour in hours:  # two do not fit into one segment
        at = now + hour * HOUR_MS
        rows = [
            Record(None, b"x" * 600_000, (), at),
            Record(None, b"y", (), at + 500),
            Record(None, b"z", (), at + 100),
        ]
        wire.produce(topic, batch(records=rows)).must_succeed()
    for start, newest in ((0, 2), (3, 2), (9, 4), (15, 5)):
        wire.delete_records(topic, offset=start).must_succeed()
        with wire.part(f"log start {start}"):
            wanted = now + hours[newest] * HOUR_MS + 500
            wire.eventually(
                lambda newest=newest, wanted=wanted: wire.list_offsets(topic, at="max-timestamp").must_name(
                    offset=3 * newest + 1, timestamp=wanted
                ),
                within=20,
            )


@case(
    "offsets/ends-of-three-epochs",
    guarantees=["repl-008", "offs-007"],
    apis={"OffsetForLeaderEpoch": 3, "ListOffsets": 4, "Metadata": 7},
    needs=["leaders", "terminate", "restart"],
    detects=["M32b", edit_answer("topics[].partitions[].end_offset", add=1, api="OffsetForLeaderEpoch")],
)
def each_epoch_of_several_has_its_end(wire, topic, nodes):
    """Where several leader epochs have written, each MUST end where the next that wrote begins, one that wrote nothing
    is answered with the newest before it, and each record's offset MUST come with the epoch that its batch has.
    """
    begin = wire.now_ms() - 60_000
    for turn in range(3):
        if turn:
            nodes.stop_and_start(nodes.of(topic))
            wire.await_topic(topic)
        for _ in range(2):
            count = wire.log_end(topic)
            wire.produce(topic, batch(at=[begin + 1_000 * count, begin + 1_000 * (count + 1)])).must_succeed()
    parts = wire.read_all(topic).batches
    wrote = {part.header.base_offset: part.header.leader_epoch for part in parts}
    epochs = sorted(set(wrote.values()))
    if len(epochs) < 3 or epochs[0] < 0:  # records/epoch-of-the-leader decides whether it must rise
        wire.not_applicable(f"after two restarts the leader epochs of the batches are {epochs}; this case needs three")
    end = wire.log_end(topic)
    starts = {epoch: min(offset for offset, of in wrote.items() if of == epoch) for epoch in epochs}
    for asked in range(epochs[0], epochs[-1] + 1):
        known = max(epoch for epoch in epochs if epoch <= asked)
        later = [starts[epoch] for epoch in epochs if epoch > known]
        row = "topics[0].partitions[0]"
        answer = wire.offset_for_leader_epoch(topic, epoch=asked)
        with wire.part(f"epoch {asked}"):
            answer.must_have(f"{row}.leader_epoch", known).must_have(f"{row}.end_offset", min(later, default=end))
    for offset, epoch in wrote.items():
        wire.list_offsets(topic, at=begin + 1_000 * offset).must_name(offset=offset, leader_epoch=epoch)


def _written(wire, topic, times):
    answers = [wire.produce(topic, batch(at=[time]), wait=False) for time in times]
    for offset, answer in enumerate(answers):
        answer.must_be_at(offset)


def _must_be_found(wire, topic, times, asked, start):
    answers = [(moment, wire.list_offsets(topic, at=moment, wait=False)) for moment in asked]
    for moment, answer in answers:
        found = next((offset for offset in range(start, len(times)) if times[offset] >= moment), -1)
        answer.must_name(offset=found, timestamp=times[found] if found >= 0 else -1)
