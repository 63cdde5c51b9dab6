"""Requests of a transaction that are refused in part, come twice, or come before there is anything to end (KIP-98)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED
from brokertrial.wire import errors

TRANSACTIONS = {"AddPartitionsToTxn": 0, "EndTxn": 0}
FENCED = (errors.INVALID_PRODUCER_EPOCH, errors.PRODUCER_FENCED)
ROW = "transaction_states[0]"
ADDED = "results_by_topic_v3_and_below[].results_by_partition[].partition_error_code"


@case(
    "transactions/added-all-or-none",
    guarantee="txn-028",
    apis={**TRANSACTIONS, "DescribeTransactions": 0},
    detects=["Q02", edit_answer(ADDED, set=0, api="AddPartitionsToTxn")],
)
def partitions_are_added_all_or_none(wire, topic_of, transactional_id):
    """AddPartitionsToTxn that names a partition which does not exist MUST be refused for it (3), MUST say of the others
    that they were not attempted (55), and MUST add none of them; without it all are added, and again is no error.
    """
    topic, other = topic_of(), topic_of(what="other")
    beyond, absent = len(wire.known_partitions(topic)), wire.name("absent")
    producer = wire.producer(transactional_id)
    said = (transactional_id, producer.id, producer.epoch)

    answer = wire.add_partitions(*said, [(topic, 0), (topic, beyond), (absent, 0), (other, 0)])
    codes = {
        (row.name, part.partition_index): part.partition_error_code
        for row in answer.struct.results_by_topic_v3_and_below
        for part in row.results_by_partition
    }
    unknown, skipped = errors.UNKNOWN_TOPIC_OR_PARTITION, errors.OPERATION_NOT_ATTEMPTED
    wanted = {(topic, 0): skipped, (topic, beyond): unknown, (absent, 0): unknown, (other, 0): skipped}
    answer.must(codes == wanted, f"the error codes are {codes}; they must be {wanted}", "results_by_topic_v3_and_below")
    _must_hold(wire, transactional_id, "Empty", {})

    for _ in range(2):
        wire.add_partitions(*said, [(topic, 0), (other, 0)]).must_succeed()
        _must_hold(wire, transactional_id, "Ongoing", {topic: [0], other: [0]})


@case(
    "transactions/nothing-to-commit",
    guarantee="txn-010",
    apis={**TRANSACTIONS, "DescribeTransactions": 0},
    detects=[edit_answer("error_code", set=0, api="EndTxn")],
)
def a_commit_before_anything_began_is_refused(wire, topic, transactional_id):
    """EndTxn(commit) of a producer that has begun no transaction MUST be refused (48) and change nothing: its epoch
    stays good, and its first transaction is as any other.
    """
    producer = wire.producer(transactional_id)
    for _ in range(2):
        producer.commit().must_be_refused(errors.INVALID_TXN_STATE)
    _must_hold(wire, transactional_id, "Empty", {})
    producer.send(topic, "first").must_be_at(0)
    wire.list_offsets(topic, isolation=COMMITTED).must_name(offset=0)
    producer.commit().must_succeed()
    wire.await_settled(topic)
    wire.read_all(topic, isolation=COMMITTED).must_hold("first")


@case(
    "transactions/epoch-asked-for-again",
    guarantee="txn-007",
    apis={**TRANSACTIONS, "InitProducerId": 3},
    detects=["Q03"],
)
def a_producer_asks_for_its_next_epoch_and_for_it_again(wire, topic, transactional_id):
    """InitProducerId with the producer's id and epoch MUST give the next epoch, the same one again where the answer was
    lost, and MUST refuse an epoch before that and another producer's id as fenced (47 or 90), raising nothing.
    """
    first = wire.producer(transactional_id)
    began = first.epoch

    def asked(epoch, producer_id=first.id):
        return wire.init_producer_id(transactional_id, producer_id=producer_id, epoch=epoch)

    asked(began).must_have("producer_id", first.id).must_have("producer_epoch", began + 1)
    asked(began).must_have("producer_id", first.id).must_have("producer_epoch", began + 1)
    asked(began + 1).must_have("producer_epoch", began + 2)
    asked(began).must_be_refused(*FENCED)
    asked(began + 2, producer_id=first.id + 1_000_000).must_be_refused(*FENCED)
    first.add(topic).must_be_refused(*FENCED)
    asked(began + 2).must_have("producer_epoch", began + 3)
    wire.init_producer_id(transactional_id).must_have("producer_id", first.id).must_have("producer_epoch", began + 4)


@case(
    "transactions/unknown-ids",
    guarantee="txn-029",
    apis={**TRANSACTIONS, "AddOffsetsToTxn": 0, "DescribeTransactions": 0},
    detects=[edit_answer("error_code", set=0, api=("EndTxn", "AddOffsetsToTxn"))],
)
def a_producer_id_that_is_not_the_ones_is_refused(wire, topic, group, transactional_id):
    """AddPartitionsToTxn, AddOffsetsToTxn and EndTxn with a producer id that is not the transactional id's MUST be
    refused (49), with an epoch that is not the newest as fenced (47 or 90), and the open transaction MUST stay.
    """
    producer, other = wire.producer(transactional_id), wire.producer(wire.name("other"))
    producer.send(topic, "open").must_be_at(0)
    mapped = errors.INVALID_PRODUCER_ID_MAPPING
    for name, producer_id, epoch, codes in (
        ("another's id", other.id, producer.epoch, (mapped,)),
        ("a later epoch", producer.id, producer.epoch + 1, FENCED),
    ):
        said = (transactional_id, producer_id, epoch)
        with wire.part(f"AddPartitionsToTxn with {name}"):
            wire.add_partitions(*said, [(topic, 0)]).must_be_refused(*codes)
        with wire.part(f"AddOffsetsToTxn with {name}"):
            wire.add_offsets(*said, group).must_be_refused(*codes)
        with wire.part(f"EndTxn with {name}"):
            wire.end_txn(*said, commit=True).must_be_refused(*codes)
    _must_hold(wire, transactional_id, "Ongoing", {topic: [0]})
    wire.list_offsets(topic, isolation=COMMITTED).must_name(offset=0)
    producer.abort().must_succeed()
    wire.await_settled(topic)
    wire.read_all(topic, isolation=COMMITTED).must_hold()


def _must_hold(wire, transactional_id, state, partitions):
    answer = wire.describe_transaction(transactional_id).must_have(f"{ROW}.transaction_state", state)
    held = {row.topic: sorted(row.partitions) for row in answer.at(f"{ROW}.topics")}
    answer.must(held == partitions, f"it holds {held}; it must hold {partitions}", f"{ROW}.topics")
