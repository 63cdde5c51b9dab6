"""Compaction of transactional data: what was aborted stays gone, what was committed stays, sequences are still known.

Batches are dated apart, so that each begins a segment. Markers are dated by the broker: what follows one is dated
later still, a little ahead of time.
"""

from brokertrial.suites.case import case
from brokertrial.suites.cases.compaction.survivors import HOUR_MS, cleanable, cleaned
from brokertrial.suites.probe import COMMITTED, batch
from brokertrial.wire import errors
from brokertrial.wire.records import Record

MINUTE_MS = 60_000


@case(
    "compaction/aborted-stays-gone",
    guarantees=["txn-022", "comp-011"],
    needs=["topic-settings", "compaction"],
    apis={"EndTxn": 0},
    detects=["M36f", "M36h"],
)
def aborted_records_stay_gone_and_take_nothing_with_them(wire, topic_of, transactional_id):
    """Cleaning MUST NOT bring an aborted record to a committed reader, nor drop the committed one that it follows.

    The key k1 is written plainly, then overwritten in a transaction that is aborted; k0 shows that cleaning happened.
    """
    topic = cleanable(wire, topic_of)
    start = wire.now_ms() - 12 * HOUR_MS
    wire.produce(topic, batch(records=[Record(b"k0", b"old", (), start), Record(b"k1", b"kept", (), start)]))
    producer = wire.producer(transactional_id)
    producer.send(topic, records=[Record(b"k1", b"aborted", (), start + HOUR_MS)])
    producer.abort()
    wire.await_settled(topic)
    now = wire.now_ms()
    for step in (1, 2, 3):
        wire.produce(topic, batch(records=[Record(b"k0", b"%d" % step, (), now + step * 5 * MINUTE_MS)]))
    wire.produce(topic, batch(records=[Record(b"end", b"1", (), now + 20 * MINUTE_MS)]))

    cleaned(wire, topic)
    left = wire.read_all(topic, isolation=COMMITTED)
    values = [record.value for record in left.records if record.key == b"k1"]
    left.must(values == [b"kept"], f"a committed reader sees {values} of k1; it must be the committed value alone")


@case(
    "compaction/sequence-outlives-records",
    guarantee="idem-007",
    needs=["topic-settings", "compaction", "kill", "restart"],
    detects=["M11a"],
)
def a_producers_sequence_outlives_its_records(wire, nodes, topic_of):
    """A producer whose records were all cleaned away MUST still be known by its sequence, after a crash too.

    A gap is refused, and the next sequence is accepted.
    """
    topic = cleanable(wire, topic_of)
    start = wire.now_ms() - 12 * HOUR_MS
    producer = wire.producer()
    first = producer.batch(records=[Record(b"k0", b"mine", (), start)], sequence=0)
    wire.produce(topic, first).must_succeed()
    for hour in (1, 2, 3):
        wire.produce(topic, batch(records=[Record(b"k0", b"%d" % hour, (), start + hour * HOUR_MS)]))
    wire.produce(topic, batch(records=[Record(b"end", b"1", (), start + 4 * HOUR_MS)]))
    cleaned(wire, topic)

    nodes.crash(nodes.of(topic))
    gap = producer.batch(records=[Record(b"k9", b"gap", (), start + 5 * HOUR_MS)], sequence=5)
    wire.produce(topic, gap).must_be_refused(errors.OUT_OF_ORDER_SEQUENCE_NUMBER)
    next_one = producer.batch(records=[Record(b"k9", b"next", (), start + 5 * HOUR_MS)], sequence=1)
    wire.produce(topic, next_one).must_succeed()
