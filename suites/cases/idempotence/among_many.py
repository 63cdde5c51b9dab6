"""One producer among many that write to its partition."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.at_once import at_once

OTHERS, AT_ONCE = 1_500, 50


@case(
    "idempotence/known-among-many",
    guarantees=["idem-002", "idem-003"],
    apis={"InitProducerId": 0},
    detects=["B281"],
)
def a_retry_is_known_however_many_producers_there_are(wire, topic_of):
    """However many producers write to a partition, a batch that is sent again MUST be known as the one that it is: it
    is answered with its offset and appended once, and the next sequence, no other, goes on behind it.

    A producer writes three batches, then 1,500 others write one each, then the first one sends all of its own again.
    """
    topic = topic_of(partitions=1)
    producer = wire.producer()
    written = [producer.batch(f"{turn}", sequence=turn) for turn in range(3)]
    for turn, made in enumerate(written):
        wire.produce(topic, made).must_be_at(turn)
    for _ in range(0, OTHERS, AT_ONCE):
        ids = at_once(wire, [wire.init_producer_id] * AT_ONCE)
        sent = [batch("other", producer_id=each.producer_id, producer_epoch=0, base_sequence=0) for each in ids]
        for answer in at_once(wire, [lambda made=made, **how: wire.produce(topic, made, **how) for made in sent]):
            answer.must_succeed()
    for turn, made in enumerate(written):
        wire.produce(topic, made).must_be_at(turn)
    wire.list_offsets(topic, at="latest").must_name(offset=OTHERS + 3)
    wire.produce(topic, producer.batch("a gap", sequence=4)).must_be_refused()
    wire.produce(topic, producer.batch("next", sequence=3)).must_be_at(OTHERS + 3)
