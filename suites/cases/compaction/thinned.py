"""Compaction inside a batch, and over transactions: what is left stays where it was, and what was aborted stays hidden.

Dates as in survivors.py: an hour or more apart, so that a new segment begins and the one before may be cleaned.
"""

from brokertrial.suites.case import case
from brokertrial.suites.cases.compaction.survivors import HOUR_MS, cleanable, cleaned, facts
from brokertrial.suites.probe import COMMITTED, batch
from brokertrial.wire.records import Record

TRANSACTIONS = {"AddPartitionsToTxn": 0, "EndTxn": 0}
HEADERS = ((b"h", b"\x00\xff"),)


@case(
    "compaction/left-in-a-batch",
    guarantees=["comp-001", "comp-002", "comp-006"],
    needs=["topic-settings", "compaction"],
    detects=["M36b", "M36e"],
)
def what_is_left_of_a_batch_stays_where_it_was(wire, topic_of):
    """When a part of a batch is cleaned away, the records that are left MUST keep offset, time, key, value and headers,
    and of each key it MUST be the latest one that is left.
    """
    topic = cleanable(wire, topic_of)
    start = wire.now_ms() - 24 * HOUR_MS
    for keys, hour in ((("k0", "k1", "k2"), 0), (("k0",), 1), (("k3",), 2), (("end",), 3)):
        at = start + hour * HOUR_MS
        made = [Record(key.encode(), b"%s at %d" % (key.encode(), hour), HEADERS, at) for key in keys]
        wire.produce(topic, batch(records=made)).must_succeed()
    before = {record.offset: facts(record) for record in wire.read_all(topic, isolation=COMMITTED).records}

    left = cleaned(wire, topic)
    after = {record.offset: facts(record) for record in left.records}
    wanted = {offset: known for offset, known in before.items() if offset}
    left.must(after == wanted, f"by offset there is left {after}; it must be {wanted}")


@case(
    "compaction/aborted-stays-hidden",
    guarantees=["txn-022", "comp-011"],
    needs=["topic-settings", "compaction"],
    apis=TRANSACTIONS,
    detects=["M36f", "M36h"],
)
def compaction_brings_nothing_back_that_was_aborted(wire, topic_of, transactional_id):
    """Compaction MUST NOT make the records of an aborted transaction visible to read_committed, and MUST NOT let them
    take the place of the committed record of their key.
    """
    topic = cleanable(wire, topic_of)
    now = wire.now_ms()
    producer = wire.producer(transactional_id)
    for value, hours, ended in (("committed", 20, producer.commit), ("aborted", 10, producer.abort)):
        producer.send(topic, value, key=b"k0", timestamp=now - hours * HOUR_MS).must_succeed()
        ended().must_succeed()
        wire.await_settled(topic)
    wire.produce(topic, batch("1", key=b"end", timestamp=now + HOUR_MS // 12)).must_succeed()

    cleaned(wire, topic)
    wire.read_all(topic, isolation=COMMITTED).must_hold("committed", "1")


@case(
    "compaction/producer-is-remembered",
    guarantee="idem-007",
    needs=["topic-settings", "compaction", "kill", "restart"],
    apis={"InitProducerId": 0},
    detects=["M11a"],
)
def a_producer_is_remembered_though_its_records_are_gone(wire, topic_of, nodes):
    """A batch that an idempotent producer sends again MUST be known as a duplicate, although compaction has removed all
    records of the first one and the leader has read its log again after a crash.
    """
    topic = cleanable(wire, topic_of)
    now = wire.now_ms()
    old = wire.producer().batch("old", sequence=0, key=b"k0", timestamp=now - 12 * HOUR_MS)
    wire.produce(topic, old).must_be_at(0)
    wire.produce(topic, batch("new", key=b"k0", timestamp=now - 6 * HOUR_MS)).must_be_at(1)
    wire.produce(topic, batch("1", key=b"end", timestamp=now)).must_be_at(2)
    cleaned(wire, topic)
    nodes.crash(nodes.of(topic))
    wire.await_topic(topic)

    wire.produce(topic, old).must_be_at(0)
    wire.read_all(topic).must_hold("new", "1")
