"""What readers see of a transaction, and when (KIP-98)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED, batch

TRANSACTIONS = {"AddPartitionsToTxn": 0, "EndTxn": 0}


@case(
    "transactions/all-or-nothing",
    guarantees=["txn-001", "txn-027"],
    apis=TRANSACTIONS,
    needs=["partitions"],
    smoke=True,
    detects=["M17", "M18a"],
)
def a_transaction_becomes_visible_as_a_whole(wire, topic_of, transactional_id):
    """Records of a transaction MUST be invisible to read_committed readers until it commits, on every partition, also
    to its own writer; after the commit all of them MUST be visible.
    """
    topic = topic_of(partitions=3)
    producer = wire.producer(transactional_id)
    for partition in range(3):
        producer.send(topic, f"a{partition}", f"b{partition}", partition=partition)
    for partition in range(3):
        wire.fetch(topic, partition, isolation=COMMITTED).must_be_empty()

    producer.commit().must_succeed()

    for partition in range(3):
        wire.await_settled(topic, partition)
        wire.fetch(topic, partition, isolation=COMMITTED).must_hold(f"a{partition}", f"b{partition}")


@case("transactions/aborted-is-not-delivered", guarantee="txn-002", apis=TRANSACTIONS, smoke=True, detects=["M15b"])
def what_was_aborted_is_never_delivered(wire, topic, transactional_id):
    """Records of an aborted transaction MUST NOT be delivered under read_committed, neither before nor after others.

    The reader filters as clients do: by the list of aborted transactions, up to the marker.
    """
    producer = wire.producer(transactional_id)
    for outcome, value in enumerate(("aborted 1", "committed 1", "aborted 2", "committed 2")):
        producer.send(topic, value)
        (producer.commit if outcome % 2 else producer.abort)().must_succeed()
    wire.produce(topic, batch("plain"))

    wire.await_settled(topic)
    wire.read_all(topic, isolation=COMMITTED).must_hold("committed 1", "committed 2", "plain")


@case(
    "transactions/uncommitted-reads-all",
    guarantee="txn-005",
    apis=TRANSACTIONS,
    detects=[edit_answer("responses[].partitions[].records[0]", drop=True, api="Fetch", fields={"isolation_level": 0})],
)
def read_uncommitted_sees_open_and_aborted_records(wire, topic, transactional_id):
    """read_uncommitted MUST return the records of open and of aborted transactions too, up to the high watermark."""
    producer = wire.producer(transactional_id)
    producer.send(topic, "aborted")
    producer.abort().must_succeed()
    producer.send(topic, "committed")
    producer.commit().must_succeed()
    producer.send(topic, "open")

    wire.read_all(topic).must_hold("aborted", "committed", "open")
