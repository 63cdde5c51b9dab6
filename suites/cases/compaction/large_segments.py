"""Compaction of segments that stay apart, since two of them do not fit into one, and of what a later abort decides."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.compaction.survivors import HOUR_MS, RECORDS, cleanable, cleaned
from brokertrial.suites.probe import COMMITTED, batch

NEEDS = ("topic-settings", "compaction")
LARGE = 400_000
SEGMENT = 1_048_576


@case(
    "compaction/holes-at-the-ends-of-segments",
    guarantees=["comp-007", "comp-001", "fetch-013"],
    needs=NEEDS,
    detects=["M36a"],
)
def a_reader_comes_over_every_end_of_a_segment(wire, topic_of, rng):
    """Where cleaning took the first or the last records of segments that are still there, a reader that begins at any
    offset MUST be given what is left behind it, and nothing else.

    Segments of one mebibyte hold two large records each, so that no two are made one: some lose their last record, some
    their first.
    """
    topic = cleanable(wire, topic_of, **{"segment.bytes": str(SEGMENT), "segment.ms": str(10 * HOUR_MS)})
    keys = ("a", "k0", "k0", "b", "c", "k1", "k1", "k2", "k2", "d", "e", "end")
    start = wire.now_ms() - HOUR_MS
    for number, key in enumerate(keys):
        made = batch(rng.randbytes(LARGE), key=key.encode(), timestamp=start + number)
        wire.produce(topic, made).must_be_at(number)
    left = cleaned(wire, topic, b"k2")
    must_be_read_from_everywhere(wire, topic, left, keys)


def must_be_read_from_everywhere(wire, topic, left, keys):
    """The latest record of each key is left, a reader comes from each offset to what is left behind it, and the log
    begins and ends where it did. `keys` are those of the records as they were written, by offset."""
    kept = left.offsets
    latest = {key: max(n for n, each in enumerate(keys) if each == key) for key in keys}
    gone = sorted(set(latest.values()) - set(kept))
    left.must(not gone, f"the offsets {gone}, the latest of their keys, are gone; left are {kept}")
    for at in range(len(keys)):
        answer = wire.fetch(topic, offset=at)
        found = [offset for offset in answer.offsets if offset >= at]
        due = [offset for offset in kept if offset >= at]
        answer.must(bool(found) and found == due[: len(found)], f"from {at} on come {found}; due are {due}", RECORDS)
        wire.read_all(topic, offset=at).must_have_offsets(due)
    wire.list_offsets(topic, at="earliest").must_name(offset=0)
    wire.list_offsets(topic, at="latest").must_name(offset=len(keys))


@case(
    "compaction/abort-behind-what-is-cleaned",
    guarantees=["txn-022", "comp-011", "txn-002"],
    needs=NEEDS,
    apis={"AddPartitionsToTxn": 0, "EndTxn": 0},
    detects=["M36f"],
)
def an_abort_counts_wherever_its_marker_lies(wire, topic_of):
    """Cleaning MUST keep the committed record of a key and drop none for an aborted one, also where the marker of the
    abort lies in the segment that is still written to, behind all that is cleaned, and where it lies before.

    Two keys are committed and then aborted, each in a segment of its own; one is aborted and then committed.
    """
    topic = cleanable(wire, topic_of)
    now = wire.now_ms()
    plain = [("k0", "old", 23), ("k0", "new", 22), ("x", "x committed", 21), ("y", "y committed", 20)]
    for key, value, hours in plain:
        wire.produce(topic, batch(value, key=key.encode(), timestamp=now - hours * HOUR_MS)).must_succeed()
    producers = {key: wire.producer(wire.name(key)) for key in ("x", "y", "z")}
    for key, hours in (("x", 19), ("y", 18), ("z", 17)):
        sent = producers[key].send(topic, f"{key} aborted", key=key.encode(), timestamp=now - hours * HOUR_MS)
        sent.must_succeed()
    producers["z"].abort().must_succeed()
    producers["x"].abort().must_succeed()
    producers["y"].abort().must_succeed()
    wire.await_settled(topic)
    wire.produce(topic, batch("z committed", key=b"z", timestamp=now)).must_succeed()

    cleaned(wire, topic)
    read = wire.read_all(topic, isolation=COMMITTED)
    read.must_hold("new", "x committed", "y committed", "z committed")
    last = wire.read_all(topic)
    last.must(last.values[-1] == b"z committed", f"the last record is {last.values[-1:]}")
