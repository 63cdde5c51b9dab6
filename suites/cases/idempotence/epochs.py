"""Producer ids and epochs: never given out twice, and the newer epoch wins (KIP-98, KIP-360)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors


@case(
    "idempotence/fresh-producer-ids",
    guarantee="idem-001",
    apis={"InitProducerId": 0},
    detects=[edit_answer("producer_id", set=7, api="InitProducerId"), "M11e", "N11"],
)
def a_producer_id_is_never_given_out_twice(wire):
    """InitProducerId without a transactional id MUST return a producer id that was never given out before, at epoch 0.

    Many requests under way at once, over several connections and every node. One that is refused as too early, because
    a block of ids is on its way, is sent again and is given an id.
    """
    asked = [(f"c{number % 4}", wire.nodes[number % len(wire.nodes)]) for number in range(80)]
    pending = [wire.init_producer_id(None, via=via, to=node, wait=False) for via, node in asked]
    early = [answer.error == errors.COORDINATOR_LOAD_IN_PROGRESS for answer in pending]
    seen = set()
    for answer, (via, node), too_early in zip(pending, asked, early, strict=True):
        if too_early:
            answer = wire.init_producer_id(None, via=via, to=node)
        answer.must_succeed().must_have("producer_epoch", 0)
        known = answer.producer_id in seen or answer.producer_id < 0
        answer.must(not known, f"producer id {answer.producer_id} is none, or was given out before", "producer_id")
        seen.add(answer.producer_id)


@case("idempotence/newer-epoch", guarantee="idem-009", apis={"InitProducerId": 0}, detects=["M12b", "M13a"])
def a_newer_epoch_begins_at_zero_and_fences_the_older(wire, topic):
    """A newer producer epoch MUST begin at sequence 0, and a batch of an older epoch MUST be refused.

    Epoch 1 at sequence 5 is refused (45); at 0 it is accepted; then epoch 0 comes too late (47, or 90 for newer
    clients).
    """
    producer = wire.producer()
    producer.send(topic, "old")
    producer.send(topic, "gap", sequence=5, epoch=1).must_be_refused(errors.OUT_OF_ORDER_SEQUENCE_NUMBER)
    producer.raise_epoch(topic, producer.batch("new", sequence=0, epoch=1)).must_be_at(1)
    producer.send(topic, "late", sequence=1, epoch=0).must_be_refused(
        errors.INVALID_PRODUCER_EPOCH, errors.PRODUCER_FENCED
    )
    wire.read_all(topic).must_hold("old", "new")


@case(
    "idempotence/sequence-wraps",
    guarantee="idem-010",
    apis={"InitProducerId": 0},
    detects=[edit_answer("responses[].partition_responses[].error_code", set=45, api="Produce", skip=2)],
)
def after_the_largest_sequence_comes_zero(wire, topic):
    """After sequence 2147483647 a producer's next batch SHOULD begin at 0, and a retry of either SHOULD be a duplicate.

    The partition has not seen the producer, so any first sequence will do; it has been written to (KAFKA-15591).
    """
    wire.produce(topic, batch("before"))
    producer = wire.producer()
    last = producer.batch("a", "b", "c", sequence=2**31 - 3)
    first = producer.batch("d", sequence=0)
    producer.begin_at(topic, last).must_be_at(1)
    wire.produce(topic, first).must_be_at(4)
    wire.produce(topic, last).must_be_at(1)
    wire.produce(topic, first).must_be_at(4)
    wire.read_all(topic).must_hold("before", "a", "b", "c", "d")


@case(
    "idempotence/unknown-producer",
    guarantee="idem-011",
    apis={"InitProducerId": 0},
    detects=[edit_answer("responses[].partition_responses[].error_code", set=59, api="Produce", skip=1)],
)
def a_producer_that_is_not_known_may_begin_anywhere(wire, topic):
    """A partition that does not know a producer MUST accept its batch whatever the first sequence.

    Its state may have expired; so it has been since Kafka 2.5 (KIP-360). A partition that was never written to may
    insist on 0, as Kafka does from 4.5 (KAFKA-15591).
    """
    wire.produce(topic, batch("before"))
    producer = wire.producer()
    producer.begin_at(topic, producer.batch("a", sequence=42)).must_be_at(1)
    producer.send(topic, "b", sequence=43).must_be_at(2)
    producer.send(topic, "c", sequence=45).must_be_refused(errors.OUT_OF_ORDER_SEQUENCE_NUMBER)
    wire.read_all(topic).must_hold("before", "a", "b")


@case(
    "idempotence/partitions-are-apart",
    guarantee="idem-015",
    apis={"InitProducerId": 0},
    needs=["partitions"],
    detects=["M12"],
)
def sequences_count_for_each_partition(wire, topic_of):
    """Sequences MUST be counted separately for each partition, and an error on one MUST NOT disturb another."""
    topic = topic_of(partitions=4)
    producer = wire.producer()
    for partition in range(4):
        producer.send(topic, "a", partition=partition).must_be_at(0)
    producer.send(topic, "gap", partition=2, sequence=7).must_be_refused(errors.OUT_OF_ORDER_SEQUENCE_NUMBER)
    for partition in range(4):
        producer.send(topic, "b", partition=partition).must_be_at(1)
    for partition in range(4):
        wire.read_all(topic, partition).must_hold("a", "b")


@case(
    "idempotence/plain-and-idempotent",
    guarantees=["idem-002", "idem-014"],
    apis={"InitProducerId": 0},
    detects=["M09"],
)
def plain_batches_between_do_not_disturb_the_sequence(wire, topic):
    """Batches of others between those of a producer MUST NOT disturb its sequence nor the recognition of a retry."""
    producer = wire.producer()
    first = producer.batch("mine", sequence=0)
    wire.produce(topic, first).must_be_at(0)
    wire.produce(topic, batch("other", "other"))
    wire.producer().send(topic, "another's", sequence=0).must_be_at(3)
    wire.produce(topic, first).must_be_at(0)
    wire.produce(topic, producer.batch("next", sequence=1)).must_be_at(4)
    wire.read_all(topic).must_hold("mine", "other", "other", "another's", "next")
