"""Sequences and epochs at their edges: across the wrap, across an epoch, across the deletion of the topic (KIP-360)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors

IDS = {"InitProducerId": 0}
OLD_EPOCH = (errors.INVALID_PRODUCER_EPOCH, errors.PRODUCER_FENCED)
WRITTEN = "responses[].partition_responses[].base_offset"
REFUSED = "responses[].partition_responses[].error_code"
PRODUCERS = "topics[0].partitions[0].active_producers"


@case(
    "idempotence/batch-across-the-wrap",
    guarantee="idem-010",
    apis=IDS,
    detects=[edit_answer(REFUSED, set=0, api="Produce")],
)
def a_batch_may_reach_across_the_largest_sequence(wire, topic):
    """A batch that begins below sequence 2147483647 and ends above it SHOULD end at the sequence that is counted on
    from 0, so that the next one begins right behind it and the batch sent again is a duplicate.

    Four records from 2147483646 on end at 1: the next sequence is 2, and 3 is a gap.
    """
    wire.produce(topic, batch("before"))
    producer = wire.producer()
    across = producer.batch("a", "b", "c", "d", sequence=2**31 - 2)
    producer.begin_at(topic, across).must_be_at(1)
    wire.produce(topic, producer.batch("f", sequence=3)).must_be_refused(errors.OUT_OF_ORDER_SEQUENCE_NUMBER)
    wire.produce(topic, producer.batch("e", sequence=2)).must_be_at(5)
    wire.produce(topic, across).must_be_at(1)
    wire.produce(topic, producer.batch("f", sequence=3)).must_be_at(6)
    wire.read_all(topic).must_hold("before", "a", "b", "c", "d", "e", "f")


@case(
    "idempotence/in-flight-at-a-new-epoch",
    guarantees=["idem-009", "idem-002"],
    apis=IDS,
    detects=["M13a", edit_answer(REFUSED, set=0, api="Produce")],
)
def batches_of_the_epoch_before_are_no_duplicates(wire, topic):
    """A new epoch MUST begin with nothing remembered: its batch with a sequence of the epoch before is new, and batches
    of the epoch before that arrive late MUST be refused (47 or 90), the known ones as well as the next one.

    Three batches in epoch 4, three in epoch 5 with the same sequences; then all six again.
    """
    producer = wire.producer()
    old = [producer.batch(f"old {n}", sequence=n, epoch=4) for n in range(4)]
    new = [producer.batch(f"new {n}", sequence=n, epoch=5) for n in range(3)]
    for offset, made in enumerate([*old[:3], *new]):
        wire.produce(topic, made).must_be_at(offset)
    for n, made in enumerate(old):
        with wire.part(f"old batch {n}"):
            wire.produce(topic, made).must_be_refused(*OLD_EPOCH)
    for n, made in enumerate(new):
        wire.produce(topic, made).must_be_at(3 + n)
    wire.read_all(topic).must_have_offsets(range(6))


@case(
    "idempotence/topic-made-again",
    guarantee="idem-011",
    apis={**IDS, "CreateTopics": 0, "DeleteTopics": 0},
    detects=["P46", edit_answer(WRITTEN, set=0, api="Produce", skip=4)],
)
def a_topic_made_again_knows_no_producer(wire, topic):
    """A topic that is deleted and created again MUST know no producer of the one before: a batch that was in the old
    one is new, and any first sequence is accepted.
    """
    producer, other = wire.producer(), wire.producer()
    first = producer.batch("first", sequence=0)
    wire.produce(topic, first).must_be_at(0)
    other.send(topic, "other's").must_be_at(1)
    wire.delete_topic(topic).must_succeed()
    wire.until(
        lambda: wire.create_topic(topic).error != errors.TOPIC_ALREADY_EXISTS, within=20, what="the name is free again"
    )
    wire.await_topic(topic)

    wire.produce(topic, batch("before", "before")).must_be_at(0)
    wire.produce(topic, first).must_be_at(2)
    wire.produce(topic, first).must_be_at(2)
    other.send(topic, "other's second").must_be_at(3)
    wire.read_all(topic).must_hold("before", "before", "first", "other's second")


@case(
    "idempotence/three-producers-described",
    guarantee="txn-026",
    apis={**IDS, "DescribeProducers": 0},
    detects=[edit_answer(f"{PRODUCERS}[0].last_sequence", add=1, api="DescribeProducers")],
)
def describe_producers_returns_the_last_sequence_of_each(wire, topic):
    """DescribeProducers MUST list each producer of a partition once, with its newest epoch and its last sequence, and
    no transaction; neither a duplicate nor a refused batch changes the answer.
    """
    one, two, three = (wire.producer() for _ in range(3))
    wire.describe_producers(topic).must_have(PRODUCERS, [])
    one.send(topic, "a", "b", "c").must_be_at(0)
    two.send(topic, "a").must_be_at(3)
    two.send(topic, "b").must_be_at(4)
    three.send(topic, "a", "b", sequence=0).must_be_at(5)
    three.send(topic, "c", sequence=0, epoch=1).must_be_at(7)
    _must_be_described(wire, topic, {one.id: (0, 2), two.id: (0, 1), three.id: (1, 0)})

    one.send(topic, "a", "b", "c", sequence=0).must_be_at(0)
    two.send(topic, "gap", sequence=5).must_be_refused(errors.OUT_OF_ORDER_SEQUENCE_NUMBER)
    three.send(topic, "late", sequence=2, epoch=0).must_be_refused(*OLD_EPOCH)
    _must_be_described(wire, topic, {one.id: (0, 2), two.id: (0, 1), three.id: (1, 0)})


def _must_be_described(wire, topic, wanted):
    answer = wire.describe_producers(topic)
    rows = sorted(
        (row.producer_id, (row.producer_epoch, row.last_sequence), row.current_txn_start_offset)
        for row in answer.at(PRODUCERS)
    )
    answer.must(
        rows == [(producer_id, last, -1) for producer_id, last in sorted(wanted.items())],
        f"the producers (id, epoch and last sequence, start of a transaction) are {rows}; they must be {wanted}, -1",
        PRODUCERS,
    )
