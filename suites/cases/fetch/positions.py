"""Fetch at any position: inside a batch, again, outside the log, to the end."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors


@case("fetch/inside-a-batch", guarantee="fetch-003", smoke=True, detects=["M37b"])
def a_position_inside_a_batch_gives_the_whole_batch(wire, topic):
    """A fetch at any offset of a batch MUST return the batch that holds the offset, and all after it.

    What lies below the position is for the client to skip. Two batches of four records, one of them compressed.
    """
    wire.produce(topic, batch("a", "b", "c", "d"))
    wire.produce(topic, batch("e", "f", "g", "h", compression="gzip"))

    for offset, pending in [(offset, wire.fetch(topic, offset=offset, wait=False)) for offset in range(8)]:
        with wire.part(f"from {offset}"):
            pending.must_reach(offset).must_reach(7)
            missing = [wanted for wanted in range(offset, 8) if wanted not in pending.offsets]
            pending.must(not missing, f"from offset {offset} on the records {missing} are missing")


@case("fetch/outside-the-log", guarantee="fetch-005", apis={"DeleteRecords": 0}, smoke=True, detects=["M37a"])
def an_offset_outside_the_log_is_out_of_range(wire, topic):
    """A fetch below the log start or above the log end MUST be refused with OFFSET_OUT_OF_RANGE.

    The log start itself and the log end are inside.
    """
    for value in ("a", "b", "c", "d"):
        wire.produce(topic, batch(value))
    wire.delete_records(topic, offset=2).must_succeed()

    for offset in (0, 1, 5, 1_000_000):
        wire.fetch(topic, offset=offset, max_wait_ms=2_000, min_bytes=1).must_be_refused(errors.OFFSET_OUT_OF_RANGE)
    wire.fetch(topic, offset=2).must_hold("c", "d")
    wire.fetch(topic, offset=4).must_be_empty()


@case("fetch/the-same-bytes-again", guarantee="fetch-002", detects=["M31b", "M31e"])
def reading_again_gives_the_same_bytes(wire, topic, rng):
    """A retained offset MUST give identical bytes however often, and from wherever, it is read.

    Three passes over the batches in random order, on three connections; leader epochs are the broker's own.
    """
    made = [batch(*(f"{number}-{n}" * 20 for n in range(3))) for number in range(6)]
    for part in made:
        wire.produce(topic, part)

    seen: dict[int, bytes] = {}
    positions = rng.sample(range(18), 18)
    places = [(turn, at) for turn in range(3) for at in positions]
    pending = [(at, wire.fetch(topic, offset=at, via=f"c{turn}", wait=False)) for turn, at in places]
    for at, answer in pending:
        answer.must_reach(at)
        for part in answer.batches:
            first = seen.setdefault(part.header.base_offset, bytes(part.bytes))
            same = bytes(part.bytes) == first
            answer.must(same, f"the batch at offset {part.header.base_offset} has other bytes than before", RECORDS)
    wire.must(len(seen) == 6, f"the batches begin at {sorted(seen)}; they must be six")


@case(
    "fetch/the-same-bytes-after-a-restart",
    guarantee="fetch-002",
    needs=["terminate", "restart"],
    detects=["M31f"],
)
def a_restart_leaves_the_bytes_as_they_are(wire, topic, nodes):
    """A retained offset MUST give identical bytes before and after its leader was stopped and started.

    Batches with and without a codec, and of an idempotent producer.
    """
    for number, codec in enumerate(("none", "gzip", "none", "gzip")):
        wire.produce(topic, batch(*(f"{number}-{n}" * 20 for n in range(3)), compression=codec))
    wire.producer().send(topic, "mine", "too")
    before = [bytes(part.bytes) for part in wire.read_all(topic).batches]
    nodes.stop_and_start(nodes.of(topic))
    wire.await_topic(topic)

    log = wire.read_all(topic)
    after = [bytes(part.bytes) for part in log.batches]
    log.must(len(before) == 5 and len(after) == 5, f"{len(before)} batches before, {len(after)} after; 5 were sent")
    others = [number for number, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
    log.must(not others, f"the batches {others}, counted from 0, have other bytes after the restart than before")


@case(
    "fetch/over-segments-to-the-end",
    guarantee="fetch-015",
    needs=["topic-settings"],
    detects=[edit_answer("responses[].partitions[].records[0]", drop=True, api="Fetch", skip=3)],
)
def the_whole_log_is_reachable_by_following_positions(wire, topic_of):
    """A reader that follows positions MUST get every record from the log start to the end, across all segments.

    Each batch is an hour younger than the one before, which begins a new segment; a look at a time fetches little.
    """
    topic = topic_of(configs={"segment.ms": "60000", "retention.ms": "-1"})
    hours = [wire.now_ms() - (12 - n) * 3_600_000 for n in range(12)]
    for pending in [wire.produce(topic, batch(at=[t, t + 1, t + 2]), wait=False) for t in hours]:
        pending.must_succeed()

    position = 0
    while position < 36:
        answer = wire.fetch(topic, offset=position, partition_max_bytes=300, max_wait_ms=5_000, min_bytes=1)
        expected = list(range(position, position + max(len(answer.offsets), 1)))
        answer.must(answer.offsets == expected, f"at {position} come the offsets {answer.offsets}", RECORDS)
        position += len(expected)


@case("fetch/at-the-tail", guarantee="fetch-015", detects=["M06"])
def a_reader_at_the_tail_is_given_every_record(wire, topic):
    """A reader that waits at the end of the log MUST be given every record that arrives, in order.

    How many of them one answer returns is the broker's choice: the reader goes on after the last batch that it was
    given. Another request, sent after the reader's, is answered before the records are sent: so the reader is waiting
    by then.
    """
    position = 0
    for number in range(7):
        sent = [f"{number}a".encode(), f"{number}b".encode()]
        waiting = wire.fetch(topic, offset=position, max_wait_ms=3_000, min_bytes=1, via="reader", wait=False)
        wire.list_offsets(topic, at="latest").must_name(offset=position)
        wire.produce(topic, batch(*sent))
        behind = waiting.batches[-1].header.last_offset + 1 if waiting.batches else position
        arrived = [*waiting.values, *wire.read_all(topic, offset=behind).values]
        wire.must(arrived == sent, f"the reader is given {arrived}; it must be given {sent}", waiting)
        position += 2


RECORDS = "responses[0].partitions[0].records"
