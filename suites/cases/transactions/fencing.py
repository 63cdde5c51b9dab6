"""One producer a transactional id: a newer instance shuts out the older one (KIP-98, KIP-360)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED
from brokertrial.wire import errors

TRANSACTIONS = {"AddPartitionsToTxn": 0, "EndTxn": 0}
FENCED = (errors.INVALID_PRODUCER_EPOCH, errors.PRODUCER_FENCED)


@case(
    "transactions/newer-instance-fences",
    guarantee="txn-007",
    apis={**TRANSACTIONS, "TxnOffsetCommit": 0},
    smoke=True,
    detects=["M13b"],
)
def a_newer_instance_shuts_out_the_older_one(wire, topic, group, transactional_id):
    """InitProducerId for a transactional id in use MUST raise the epoch and abort the open transaction, and each later
    request of the older instance MUST be refused as fenced (47 or 90).
    """
    older = wire.producer(transactional_id)
    older.send(topic, "from the older")
    newer = wire.producer(transactional_id)
    wire.must(
        newer.id != older.id or newer.epoch > older.epoch,
        f"the newer instance got producer id {newer.id} epoch {newer.epoch}, the older had {older.id} {older.epoch}",
    )
    wire.await_settled(topic)

    with wire.the_subject():
        older.send(topic, "too late").must_be_refused(*FENCED)
        older.add(topic).must_be_refused(*FENCED)
        older.commit().must_be_refused(*FENCED)
        older.abort().must_be_refused(*FENCED)

    newer.send(topic, "from the newer")
    newer.commit().must_succeed()
    wire.await_settled(topic)
    wire.read_all(topic, isolation=COMMITTED).must_hold("from the newer")


@case("transactions/same-instance-fences-itself", guarantee="txn-007", apis=TRANSACTIONS, detects=["M13b"])
def each_start_raises_the_epoch(wire, topic, transactional_id):
    """Each InitProducerId of a transactional id MUST give a higher epoch, and EndTxn of an earlier one MUST be refused
    although nothing is open.
    """
    producer = wire.producer(transactional_id)
    seen = [(producer.id, producer.epoch)]
    for _ in range(3):
        producer.start()
        earlier_id, earlier_epoch = seen[-1]
        wire.must(
            producer.id != earlier_id or producer.epoch > earlier_epoch,
            f"producer id {producer.id} epoch {producer.epoch} came after {earlier_id} epoch {earlier_epoch}",
        )
        seen.append((producer.id, producer.epoch))
    producer.send(topic, "open")
    with wire.the_subject():
        for producer_id, epoch in seen[:-1]:
            wire.end_txn(transactional_id, producer_id, epoch, commit=True).must_be_refused(*FENCED)
    wire.list_offsets(topic, isolation=COMMITTED).must_name(offset=0)
