"""Compaction of records whose keys are like those of transaction markers: nothing that was decided is open again."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.compaction.survivors import HOUR_MS, cleanable, cleaned
from brokertrial.suites.probe import COMMITTED, batch

COMMIT_KEY, ABORT_KEY = b"\x00\x00\x00\x01", b"\x00\x00\x00\x00"
"""A marker is a record too: its key is a version and a type (docs: control batch)."""
ODD_KEYS = (b"", b"\x00", b"\x00\x01", b"\x00\x00\x00\x02", b"\x00\x00\x00\x01\x00\x00", b"\xff" * 4)
WITHIN_S = 20


@case(
    "compaction/keys-like-those-of-markers",
    guarantees=["comp-002", "txn-001", "txn-022"],
    needs=["topic-settings", "compaction", "kill", "restart"],
    apis={"AddPartitionsToTxn": 0, "EndTxn": 0},
    detects=["K34"],
)
def markers_are_no_records_of_a_key(wire, topic_of, transactional_id, nodes, rng):
    """Compaction MUST NOT treat a transaction's marker as a record, whatever keys the records behind it have: where a
    record of a transaction is left, its marker MUST be behind it in the log. Committed records are read by
    read_committed, aborted ones are not, and nothing is open, also once the leader has loaded its log again.
    """
    topic = cleanable(wire, topic_of)
    now = wire.now_ms()
    producer = wire.producer(transactional_id)
    for hours, (value, ended) in enumerate((("one", "commit"), ("gone", "abort"), ("two", "commit"))):
        at = now - (20 - hours) * HOUR_MS
        producer.send(topic, value, key=b"of " + value.encode(), timestamp=at).must_succeed()
        getattr(producer, ended)().must_succeed()
        wire.await_settled(topic)
    keys = [COMMIT_KEY, ABORT_KEY, *rng.sample(ODD_KEYS, 3)]
    rng.shuffle(keys)
    for hours, key in enumerate(keys):
        for value in (f"old {hours}", f"new {hours}"):
            wire.produce(topic, batch(value, key=key, timestamp=now - (12 - hours) * HOUR_MS)).must_succeed()
    wire.produce(topic, batch("1", key=b"end", timestamp=now + HOUR_MS // 12)).must_succeed()
    wanted = ["one", "two", *(f"new {hours}" for hours in range(len(keys))), "1"]

    cleaned(wire, topic, COMMIT_KEY)
    _must_be_decided(wire, topic, wanted)
    nodes.crash(nodes.of(topic))
    wire.await_topic(topic)
    wire.eventually(lambda: _must_be_decided(wire, topic, wanted), within=WITHIN_S)


def _must_be_decided(wire, topic, wanted):
    stable, end = wire.log_end(topic, isolation=COMMITTED), wire.log_end(topic)
    wire.must(stable == end, f"the last stable offset is {stable} and the end is {end}: a transaction is open again")
    wire.read_all(topic, isolation=COMMITTED).must_hold(*wanted)
    log = wire.read_all(topic)
    open_since = dict[int, int]()
    for each in log.batches:
        header = each.header
        if header.is_control and header.record_count:
            open_since.pop(header.producer_id, None)
        elif header.is_transactional and not header.is_control and header.record_count:
            before = open_since.setdefault(header.producer_id, header.base_offset)
            apart = before == header.base_offset
            log.must(apart, f"between offsets {before} and {header.base_offset} there is no marker of the first one")
    log.must(not open_since, f"there is no marker behind the records of transactions at {sorted(open_since.values())}")
