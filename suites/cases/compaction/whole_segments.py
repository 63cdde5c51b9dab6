"""Cleaning that empties whole segments, meets retention, and is followed by a crash."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.compaction.survivors import RECORDS, cleanable, cleaned, write
from brokertrial.suites.probe import batch
from brokertrial.wire.records import Record

NEEDS = ["topic-settings", "compaction"]
WITHIN_S = 60


@case(
    "compaction/whole-segments-emptied",
    guarantees=["comp-007", "comp-001", "fetch-013"],
    apis={"ListOffsets": 1},
    needs=NEEDS,
    detects=["M37e"],
)
def readers_pass_segments_that_hold_nothing(wire, topic_of):
    """Where cleaning has emptied whole segments a reader MUST come from each offset of the hole to what is left behind
    it, a query by time MUST name what is left, and the ends of the log MUST stay.

    Eight segments hold the same three keys; the ninth holds one more.
    """
    topic = cleanable(wire, topic_of)
    write(wire, topic, 8)
    left = cleaned(wire, topic)
    end, kept = wire.log_end(topic), left.offsets
    for latest in (21, 22, 23, 24):
        left.must(latest in kept, f"offset {latest}, the latest of its key, is gone; left are {kept}")
    for at, answer in [(at, wire.fetch(topic, offset=at, wait=False)) for at in range(end)]:
        found = [offset for offset in answer.offsets if offset >= at]
        due = [offset for offset in kept if offset >= at]
        answer.must(bool(found) and found == due[: len(found)], f"from {at} on come {found}; it must be {due}", RECORDS)
    wire.list_offsets(topic, at="earliest").must_name(offset=0)
    wire.list_offsets(topic, at="latest").must_name(offset=25)
    times = {record.offset: record.timestamp for record in left.records}
    for moment in sorted(set(times.values())):
        first = next(offset for offset in kept if times[offset] >= moment)
        wire.list_offsets(topic, at=moment).must_name(offset=first, timestamp=times[first])
    wire.produce(topic, batch("next", key=b"end")).must_be_at(25)


@case(
    "compaction/cleaned-then-crashed",
    guarantees=["comp-010", "comp-001", "comp-002"],
    apis={"ListOffsets": 1},
    needs=[*NEEDS, "kill", "restart", "leaders"],
    detects=["M36a"],
)
def a_crash_after_cleaning_changes_nothing(wire, topic_of, nodes):
    """When a broker crashes after its log was cleaned, and after more was written, the latest record of each key MUST
    be there once, at its offset and time, and nothing that another replaced comes back as the latest.
    """
    topic = cleanable(wire, topic_of)
    write(wire, topic, 6)
    before = {record.offset: record for record in cleaned(wire, topic).records}
    wire.produce(topic, batch(records=[Record(b"k1", b"new", (), wire.now_ms())])).must_be_at(19)
    nodes.crash(nodes.of(topic))
    wire.await_topic(topic)
    for latest in (15, 17, 18, 19):
        held = wire.fetch(topic, offset=latest)
        found = next((record for record in held.records if record.offset == latest), None)
        wanted = before.get(latest)
        held.must(found is not None, f"offset {latest}, the latest of its key, is gone", RECORDS)
        if wanted is not None:
            same = (found.key, found.value, found.timestamp) == (wanted.key, wanted.value, wanted.timestamp)  # type: ignore[union-attr]
            held.must(same, f"offset {latest} holds another record than before the crash", RECORDS)
    log = wire.read_all(topic)
    last = {record.key: (record.offset, record.value) for record in log.records}
    must = {b"k0": (15, b"5"), b"k1": (19, b"new"), b"k2": (17, b"5"), b"end": (18, b"1")}
    log.must(last == must, f"the latest of each key are {last}; they must be {must}")
    wire.list_offsets(topic, at="latest").must_name(offset=20)
    wire.produce(topic, batch("next", key=b"k0")).must_be_at(20)
