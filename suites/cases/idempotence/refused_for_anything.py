"""Batches of producers with ids that are refused, for whatever reason: nothing of them is remembered (KIP-98)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED
from brokertrial.wire import errors
from brokertrial.wire.records import Record

WRONG = (errors.INVALID_RECORD, errors.CORRUPT_MESSAGE)
COMPACT = {"cleanup.policy": "compact"}
SMALL = {"max.message.bytes": "2000"}
LONG = {"segment.bytes": "1048576", "max.message.bytes": "4000000"}
WAYS = {
    "its checksum": ({}, {"values": ["x"], "crc": 12345}, WRONG),
    "its count": ({}, {"values": ["x"], "record_count": 7}, WRONG),
    "a size beyond max.message.bytes": (SMALL, {"values": ["x" * 3_000]}, (errors.MESSAGE_TOO_LARGE,)),
    "a size beyond that of a segment": (LONG, {"values": ["x" * 1_200_000]}, (errors.RECORD_LIST_TOO_LARGE,)),
    "a record without a key": (COMPACT, {"values": [], "records": [Record(None, b"x")]}, WRONG),
}
"""What is wrong, the settings of the topic, the batch, and the error codes of which it must have one."""
NOT_NEXT = (errors.OUT_OF_ORDER_SEQUENCE_NUMBER,)


@case(
    "idempotence/refused-for-anything",
    guarantees=["idem-005", "idem-002", "prod-004"],
    apis={"InitProducerId": 0, "AddPartitionsToTxn": 0, "EndTxn": 0},
    needs=["topic-settings"],
    detects=["Z18"],
)
def a_refused_batch_leaves_no_sequence(wire, topic_of, transactional_id):
    """A batch that is refused, for whatever reason, MUST NOT use up its sequence nor open a transaction: later
    sequences MUST be refused until a batch with its sequence is appended, which MUST get the next offset and be known
    from then.

    Damaged, miscounted, too large for the topic, too large for a segment, without a key where the topic is compacted;
    of an idempotent producer and of a transactional one.
    """
    committer = wire.producer(transactional_id)
    for number, (what, (settings, wrong, codes)) in enumerate(WAYS.items()):
        topic = topic_of(what=f"t{number}", configs=settings)
        with wire.part(what):
            _refused_in_between(wire, topic, wrong, codes)
            _refused_first(wire, topic, committer, wrong, codes)


def _refused_in_between(wire, topic, wrong, codes):
    producer = wire.producer()
    keys = {"key": b"k"}
    wire.produce(topic, producer.batch("a", sequence=0, **keys)).must_be_at(0)
    wire.produce(topic, producer.batch(*wrong["values"], sequence=1, **_rest(wrong))).must_be_refused(*codes)
    wire.produce(topic, producer.batch("c", sequence=2, **keys)).must_be_refused(*NOT_NEXT)
    wire.produce(topic, producer.batch("b", sequence=1, **keys)).must_be_at(1)
    wire.produce(topic, producer.batch("c", sequence=2, **keys)).must_be_at(2)
    wire.produce(topic, producer.batch("b", sequence=1, **keys)).must_be_at(1)
    wire.read_all(topic).must_hold("a", "b", "c")


def _refused_first(wire, topic, committer, wrong, codes):
    """The first batch of a transaction is refused: there is nothing to be decided."""
    refused = committer.prepared(topic, *wrong["values"], sequence=0, **_rest(wrong))
    refused().must_be_refused(*codes)
    wire.list_offsets(topic, isolation=COMMITTED).must_name(offset=3)
    wire.read_all(topic, isolation=COMMITTED).must_hold("a", "b", "c")
    committer.send(topic, "d", key=b"k").must_be_at(3)
    committer.commit().must_succeed()
    wire.await_settled(topic)
    wire.read_all(topic, isolation=COMMITTED).must_hold("a", "b", "c", "d")


def _rest(wrong):
    return {name: value for name, value in wrong.items() if name != "values"}
