"""Which batches a partition takes from a producer with a transactional id (KIP-98, KIP-890)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED
from brokertrial.suites.probe.produce import UNVERIFIED
from brokertrial.wire import errors

TRANSACTIONS = {"AddPartitionsToTxn": 0, "EndTxn": 0}
ADDED_FIRST = 11  # the last Produce that adds no partition by itself
VERIFIED_S = 10
VERIFICATION = "transaction.partition.verification.enable"
TAKEN = edit_answer("responses[].partition_responses[].error_code", set=0, api="Produce")


@case("transactions/plain-in-between", guarantee="txn-019", apis=TRANSACTIONS, detects=[TAKEN])
def a_plain_batch_within_a_transaction_is_refused(wire, topic, transactional_id):
    """While a producer has a transaction open on a partition, its batch that is not transactional SHOULD be refused
    (48) and not be written.
    """
    producer = wire.producer(transactional_id)
    producer.send(topic, "in it")
    plain = producer.batch("beside it", sequence=1, transactional=False)

    wire.produce(topic, plain).must_be_refused(errors.INVALID_TXN_STATE)

    wire.list_offsets(topic).must_name(offset=1)
    producer.send(topic, "in it too").must_be_at(1)
    producer.commit().must_succeed()
    wire.await_settled(topic)
    wire.read_all(topic, isolation=COMMITTED).must_hold("in it", "in it too")


@case(
    "transactions/not-added",
    guarantee="txn-020",
    apis={**TRANSACTIONS, "Produce": 3},
    since="3.6 (KIP-890)",
    detects=[TAKEN],
)
def a_batch_outside_any_transaction_is_refused(wire, topic, transactional_id):
    """A transactional batch to a partition that was not added to the transaction MUST be refused (48 or 120) up to
    Produce v11, and MUST NOT hold up readers.
    """
    if wire.setting(VERIFICATION) == "false":
        wire.not_applicable(f"{VERIFICATION} is false on this cluster", "refused-by-settings")
    producer = wire.producer(transactional_id)
    stray = producer.batch("stray", sequence=0)

    version = min(ADDED_FIRST, wire.versions("Produce")[-1])
    refused = wire.produce(topic, stray, transactional_id=transactional_id, version=version)
    refused.must_be_refused(errors.INVALID_TXN_STATE, errors.TRANSACTION_ABORTABLE)

    wire.await_settled(topic)
    wire.read_all(topic).must_hold()


@case(
    "transactions/not-added-beside-others",
    guarantees=["txn-020", "txn-001"],
    apis={**TRANSACTIONS, "Produce": 3},
    since="3.6 (KIP-890)",
    needs=["partitions"],
    detects=["E02"],
)
def a_partition_that_was_not_added_is_refused_alone(wire, topic_of, transactional_id, rng):
    """Of the partitions that one transactional Produce up to v11 names, those that were not added to the transaction
    MUST be refused (48 or 120) alone, whichever they are and in whatever order; the others are written to, and are
    decided with the transaction.
    """
    if wire.setting(VERIFICATION) == "false":
        wire.not_applicable(f"{VERIFICATION} is false on this cluster", "refused-by-settings")
    topic = topic_of(partitions=4)
    producer = wire.producer(transactional_id)
    ends = dict.fromkeys(range(4), 0)
    for commit in (True, False, True, False):
        node = wire.leader(topic, rng.randrange(4))
        led = [(topic, number) for number in range(4) if wire.leader(topic, number) == node]
        added = rng.sample(led, (len(led) + 1) // 2)
        for place in added:
            producer.add(*place).must_succeed()
        written = _written(wire, producer, node, rng.sample(led, len(led)), added, rng)
        for place in led:
            if place in added:
                written[place].must_be_at(ends[place[1]])
                ends[place[1]] += 2
            else:
                written[place].must_be_refused(errors.INVALID_TXN_STATE, errors.TRANSACTION_ABORTABLE)
        (producer.commit() if commit else producer.abort()).must_succeed()
        for number, end in ends.items():
            wire.await_settled(topic, number)
            wire.list_offsets(topic, number).must_name(offset=end)


def _written(wire, producer, node, places, added, rng):
    """One request with a batch for each; sent again while the coordinator is busy, which is a retriable error."""
    version = rng.choice([each for each in wire.versions("Produce") if 3 <= each <= ADDED_FIRST])
    made = {place: producer.batch("a", sequence=producer.sequences.get(place, 0)) for place in places}
    for place in added:
        producer.sequences[place] = producer.sequences.get(place, 0) + 1

    def settled():
        answer = wire.produce_all(made, transactional_id=producer.transactional_id, version=version, to=node)
        rows = {place: answer.of(*place) for place in places}
        return None if any(row.error in UNVERIFIED for row in rows.values()) else rows

    return wire.until(settled, within=VERIFIED_S, what="the coordinator has verified the partitions")


@case(
    "transactions/joined-by-writing",
    guarantees=["txn-020", "txn-016"],
    apis={**TRANSACTIONS, "Produce": 12, "EndTxn": 5},
    features={"transaction.version": 2},
    detects=["M15a", "M20"],
)
def writing_joins_the_transaction_and_each_end_raises_the_epoch(wire, topic, transactional_id):
    """With transaction.version 2 a partition MUST join the transaction by being written to, the end of the
    transaction MUST decide over it, and the next one MUST have a higher epoch, in which sequence 0 is not a duplicate.
    """
    producer = wire.producer(transactional_id)
    before = producer.epoch
    producer.send(topic, "aborted", sequence=0).must_be_at(0)
    wire.list_offsets(topic, isolation=COMMITTED).must_name(offset=0)
    producer.abort().must_have("producer_epoch", before + 1)

    producer.send(topic, "committed", sequence=0).must_be_at(2)
    producer.commit().must_have("producer_epoch", before + 2)
    wire.await_settled(topic)
    wire.read_all(topic, isolation=COMMITTED).must_hold("committed")
