"""Producer ids and sequences: what is written once, what is refused (KIP-98)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors


@case(
    "idempotence/retry-is-written-once",
    guarantee="idem-002",
    apis={"InitProducerId": 0},
    smoke=True,
    detects=["M09", "M10b"],
)
def the_same_batch_again_is_acknowledged_not_appended(wire, topic):
    """A batch that is sent again MUST be acknowledged with the offset first given to it and MUST NOT be appended again.

    Once on the same connection, once on a new one, as after a lost answer.
    """
    producer = wire.producer()
    wire.produce(topic, batch("before"))
    first = producer.batch("a", "b", sequence=0)
    wire.produce(topic, first).must_be_at(1)

    wire.produce(topic, first).must_be_at(1)
    wire.produce(topic, first, via="after a reconnect").must_be_at(1)

    wire.read_all(topic).must_hold("before", "a", "b")


@case("idempotence/gap-is-refused", guarantee="idem-005", apis={"InitProducerId": 0}, detects=["M12"])
def a_gap_in_the_sequence_is_refused(wire, topic):
    """A batch that leaves a gap in the sequence MUST be refused and leave no trace; the missing one MUST be accepted.
    """
    producer = wire.producer()
    producer.send(topic, "a")

    producer.send(topic, "c", sequence=2).must_be_refused(errors.OUT_OF_ORDER_SEQUENCE_NUMBER)

    producer.send(topic, "b").must_be_at(1)
    producer.send(topic, "c").must_be_at(2)
    wire.read_all(topic).must_hold("a", "b", "c")
