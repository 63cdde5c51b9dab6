"""How far back a duplicate is recognised: the five newest batches of a producer in a partition (KIP-98)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors


@case("idempotence/window-of-five", guarantee="idem-003", apis={"InitProducerId": 0}, detects=["M10"])
def each_of_the_five_newest_batches_is_known(wire, topic, rng):
    """Any of a producer's five newest batches, sent again, MUST be acknowledged with its own offset and not appended.

    They come back in any order, as after lost answers with five requests in flight.
    """
    producer = wire.producer()
    batches = [producer.batch(f"v{number}", sequence=number) for number in range(10)]
    for offset, made in enumerate(batches):
        wire.produce(topic, made).must_be_at(offset)

    for number in rng.sample(range(5, 10), 5):
        wire.produce(topic, batches[number]).must_be_at(number)

    wire.read_all(topic).must_have_offsets(range(10))


@case("idempotence/older-than-the-window", guarantee="idem-004", apis={"InitProducerId": 0}, detects=["M12"])
def a_duplicate_older_than_the_window_is_not_appended(wire, topic):
    """A duplicate older than the window MUST NOT be appended.

    It is refused (45 in Kafka, 46 elsewhere) or acknowledged as the old one.
    """
    producer = wire.producer()
    batches = [producer.batch(f"v{number}", sequence=number) for number in range(11)]
    for made in batches:
        wire.produce(topic, made)

    late = wire.produce(topic, batches[0])
    if late.error:
        late.must_be_refused(errors.OUT_OF_ORDER_SEQUENCE_NUMBER, errors.DUPLICATE_SEQUENCE_NUMBER)
    else:
        late.must_be_at(0)
    wire.read_all(topic).must_have_offsets(range(11))


@case("idempotence/without-an-id", guarantee="idem-014", detects=["M14"])
def without_a_producer_id_nothing_is_a_duplicate(wire, topic):
    """Identical bytes sent again by a producer without an id MUST be new records: they cannot be distinguished from a
    retry.
    """
    same = batch("same", "bytes")
    wire.produce(topic, same).must_be_at(0)
    wire.produce(topic, same).must_be_at(2)
    wire.produce(topic, same, via="another connection").must_be_at(4)
    wire.read_all(topic).must_hold(*["same", "bytes"] * 3)
