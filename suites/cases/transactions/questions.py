"""What the broker says of transactions when it is asked (KIP-664)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case

QUESTIONS = {"ListTransactions": 0, "DescribeTransactions": 0, "DescribeProducers": 0}
ROW = "transaction_states[0]"
PRODUCERS = "topics[0].partitions[0].active_producers"


@case(
    "transactions/told-as-they-are",
    guarantee="txn-026",
    apis={"AddPartitionsToTxn": 0, "EndTxn": 0, **QUESTIONS},
    detects=[edit_answer(f"{PRODUCERS}[0].current_txn_start_offset", set=-1, api="DescribeProducers")],
)
def what_is_returned_of_a_transaction_is_how_it_is(wire, topic, transactional_id):
    """DescribeTransactions, ListTransactions and DescribeProducers MUST agree with the transaction: its producer, its
    state and partitions, and where it began; and MUST show nothing open once it has ended.
    """
    producer = wire.producer(transactional_id, timeout_ms=20_000)
    wire.describe_transaction(transactional_id).must_have(f"{ROW}.transaction_state", "Empty")

    producer.send(topic, "before")
    producer.commit().must_succeed()
    wire.await_settled(topic)
    began = producer.send(topic, "open").offset
    _must_be_open(wire, producer, topic, began)

    producer.commit().must_succeed()
    wire.await_settled(topic)
    wire.eventually(
        lambda: wire.describe_transaction(transactional_id).must_have(f"{ROW}.transaction_state", "CompleteCommit"),
        within=10,
    )
    _must_be_listed(wire, producer, "CompleteCommit")
    ended = wire.describe_producers(topic)
    ended.must(
        all(row.current_txn_start_offset < 0 for row in ended.at(PRODUCERS)),
        "it returns an open transaction; there is none",
        PRODUCERS,
    )


def _must_be_open(wire, producer, topic, began):
    described = wire.describe_transaction(producer.transactional_id)
    for field, value in (
        ("transaction_state", "Ongoing"),
        ("producer_id", producer.id),
        ("producer_epoch", producer.epoch),
        ("transaction_timeout_ms", 20_000),
        ("topics[0].topic", topic),
        ("topics[0].partitions", [0]),
    ):
        described.must_have(f"{ROW}.{field}", value)
    _must_be_listed(wire, producer, "Ongoing")
    writing = wire.describe_producers(topic)
    starts = {row.producer_id: row.current_txn_start_offset for row in writing.at(PRODUCERS)}
    writing.must(
        starts.get(producer.id) == began,
        f"the open transactions (producer id: start) are {starts}; that of {producer.id} began at {began}",
        PRODUCERS,
    )


def _must_be_listed(wire, producer, state):
    listed = wire.list_transactions(producer.transactional_id, states=[state])
    rows = [row for row in listed.at("transaction_states") if row.transactional_id == producer.transactional_id]
    found = [(row.producer_id, row.transaction_state) for row in rows]
    listed.must(
        found == [(producer.id, state)],
        f"it lists {found}; it must list {(producer.id, state)} once",
        "transaction_states",
    )
