"""Segments that begin while records come: by size and by time, under several producers; nothing is lost."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.cases.retention.limits import CHECKS, HOUR_MS
from brokertrial.suites.probe import batch

WITHIN_S = 60


@case(
    "retention/segments-begin-under-load",
    guarantees=["ret-010", "ord-004", "idem-002", "fetch-015"],
    apis={"InitProducerId": 0},
    needs=["topic-settings"],
    detects=["M10", edit_answer("responses[].partitions[].records", set="", api="Fetch", skip=2)],
)
def nothing_is_lost_where_segments_begin(wire, topic_of):
    """While segments are rolled, by size and by time, each batch of several producers MUST be appended once and in
    order: the offsets are dense, a batch that is sent again is a duplicate, and readers get all of it.

    Four producers, six batches of 200 kB each, an hour apart: a segment holds one mebibyte, or a minute.
    """
    for settings in ({"segment.bytes": "1048576"}, {"segment.ms": "60000"}):
        topic = topic_of(what="-".join(settings)[:7], configs={**settings, "retention.ms": "-1"})
        producers = [wire.producer() for _ in range(4)]
        begin = wire.now_ms() - 9 * HOUR_MS
        sent = []
        for turn in range(6):
            for number, producer in enumerate(producers):
                made = producer.batch(
                    b"%d.%d" % (number, turn), b"x" * 200_000, sequence=2 * turn, timestamp=begin + turn * HOUR_MS
                )
                sent.append((made, wire.produce(topic, made, via=f"p{number}", wait=False)))
            for _, answer in sent[-4:]:
                answer.must_succeed()
        offsets = [answer.offset for _, answer in sent]
        wire.must(
            sorted(offsets) == list(range(0, 48, 2)), f"the offsets given out are {sorted(offsets)}; they must be dense"
        )
        for (made, _), offset in list(zip(sent, offsets, strict=True))[-20:]:
            wire.produce(topic, made).must_be_at(offset)
        log = wire.read_all(topic).must_have_offsets(range(48))
        for number in range(4):
            mine = [value for value in log.values[::2] if value.startswith(b"%d." % number)]
            wanted = [b"%d.%d" % (number, turn) for turn in range(6)]
            log.must(mine == wanted, f"of producer {number} are read {mine}; it must be {wanted}")


@case(
    "retention/by-the-newest-of-a-segment",
    guarantees=["ret-005", "ret-003", "ret-001"],
    level="should",
    needs=["topic-settings"],
    detects=["M35d"],
)
def a_segment_is_as_old_as_its_newest_record(wire, topic_of):
    """A segment's age is that of its newest record: one with a young record among old ones SHOULD stay whole, with all
    that comes after it, and goes when the young one is too old as well, or the limit is lowered.
    """
    wire.needs_setting(CHECKS, at_most=5_000)
    topic = topic_of(configs={"segment.ms": "60000", "retention.ms": str(4 * HOUR_MS)})
    now = wire.now_ms()
    rows = ([now - 30 * HOUR_MS], [now - 20 * HOUR_MS, now - 2 * HOUR_MS, now - 19 * HOUR_MS], [now - HOUR_MS // 2])
    for times in rows:
        wire.produce(topic, batch(at=times)).must_succeed()
    wire.until(lambda: wire.log_start(topic) >= 1, within=WITHIN_S, what="the segment that is old as a whole is gone")
    due = topic_of(configs={"segment.ms": "60000", "retention.ms": "60000"}, what="due")
    wire.produce(due, batch(at=[now - HOUR_MS])).must_succeed()
    wire.until(lambda: wire.log_start(due) >= 1, within=WITHIN_S, what="records that are due are deleted")
    wire.read_all(topic).must_have_offsets(range(1, 5))
    wire.list_offsets(topic, at=now - 25 * HOUR_MS).must_name(offset=1)
