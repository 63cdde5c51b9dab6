"""Plain batches in a Produce that names a transactional id: each batch is what its own header says."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED, batch
from brokertrial.wire.messages import request


@case(
    "transactions/plain-beside-transactional",
    guarantees=["txn-002", "txn-020"],
    apis={"Produce": 3, "AddPartitionsToTxn": 0, "EndTxn": 0},
    needs=["partitions"],
    detects=["Z42"],
)
def each_batch_is_what_it_says(wire, topic_of, transactional_id):
    """Where a Produce names a transactional id and holds a transactional batch for one partition and a plain batch for
    another, which is in no transaction, both MUST be stored: the plain record is there for every reader at once, and
    stays when the transaction is aborted.

    In the oldest and the newest version of Produce that transactions of the first protocol use, and in the newest.
    """
    topic = topic_of(partitions=2 * len(wire.nodes))
    one, two = wire.led_together(topic, 2)
    producer = wire.producer(transactional_id)
    producer.send(topic, "begun", partition=one).must_be_at(0)
    served, plain = list(wire.versions("Produce")), []
    first_protocol = [version for version in served if 3 <= version <= 11]
    for number, version in enumerate(sorted({*first_protocol[:1], *first_protocol[-1:], served[-1]})):
        sequence = producer.sequences[topic, one]
        producer.sequences[topic, one] += 1
        parts = [
            {"index": one, "records": producer.batch("in it", sequence=sequence)},
            {"index": two, "records": batch(f"plain {number}")},
        ]
        asked = request(
            "Produce",
            transactional_id=transactional_id,
            acks=-1,
            timeout_ms=20_000,
            topic_data=[{"name": topic, "topic_id": wire.topic_id(topic), "partition_data": parts}],
        )
        answer = wire.ask(asked, version=version, to=wire.leader(topic, one), may_take_s=20)
        found = {row.index: row.error_code for row in answer.struct.responses[0].partition_responses}
        wanted = {one: 0, two: 0}
        answer.must(found == wanted, f"the error codes are {found}; they must be {wanted}", "responses")
        plain.append(f"plain {number}")
        wire.eventually(
            lambda to=tuple(plain): wire.read_all(topic, two, isolation=COMMITTED).must_hold(*to), within=20
        )
    producer.abort().must_succeed()
    wire.await_settled(topic, one)
    wire.read_all(topic, one, isolation=COMMITTED).must_hold()
    wire.read_all(topic, two, isolation=COMMITTED).must_hold(*plain)
