"""Transactions over several topics, some of which are deleted before the transaction ends."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED

TOPICS, PARTITIONS, LONGEST_MS, WITHIN_S = 5, 2, 60_000, 30
WAYS = ("committed", "aborted", "begun anew")
"""How a transaction ends; what is begun anew is aborted by InitProducerId."""


@case(
    "transactions/some-topics-deleted-under-it",
    guarantees=["txn-001", "txn-002", "txn-024"],
    apis={"AddPartitionsToTxn": 0, "EndTxn": 0, "CreateTopics": 0, "DeleteTopics": 0},
    needs=["partitions"],
    detects=["B315"],
)
def the_others_end_whichever_are_deleted(wire, transactional_id, rng):
    """Where topics of an open transaction are deleted, whichever these are, the transaction MUST end in all partitions
    of the others: what it committed is read, what it aborted is not, and their last stable offset is their end. The
    producer MUST be able to go on.

    Six transactions over five new topics, of which one to three are deleted; two of each are committed, aborted, and
    aborted by InitProducerId.
    """
    producer = wire.producer(transactional_id, timeout_ms=LONGEST_MS)
    for turn, way in enumerate(rng.sample(WAYS * 2, 6)):
        topics = [wire.new_topic(f"t{turn}-{number}", partitions=PARTITIONS) for number in range(TOPICS)]
        for topic in rng.sample(topics, TOPICS):
            for partition in range(PARTITIONS):
                producer.send(topic, f"{turn}", partition=partition).must_succeed()
        gone = rng.sample(topics, rng.randint(1, 3))
        wire.delete_topic(*gone).must_succeed()
        if way == "begun anew":
            producer = wire.producer(transactional_id, timeout_ms=LONGEST_MS)
        else:
            (producer.commit() if way == "committed" else producer.abort()).must_succeed()
        for topic in topics:
            for partition in range(PARTITIONS if topic not in gone else 0):
                wire.await_settled(topic, partition, within=WITHIN_S)
                visible = [f"{turn}"] if way == "committed" else []
                wire.read_all(topic, partition, isolation=COMMITTED).must_hold(*visible)
