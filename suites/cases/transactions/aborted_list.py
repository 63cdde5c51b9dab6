"""The list of aborted transactions in Fetch answers, by which clients leave records out (KIP-98)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED, batch
from brokertrial.wire.records import Record

TRANSACTIONS = {"AddPartitionsToTxn": 0, "EndTxn": 0}


@case(
    "transactions/aborted-list",
    guarantee="txn-003",
    apis=TRANSACTIONS,
    needs=["topic-settings"],
    detects=["M16", "M15b"],
)
def every_aborted_transaction_in_the_range_is_named(wire, topic_of, transactional_id):
    """The list of aborted transactions MUST name producer and first offset of each one that overlaps the records
    returned, wherever the fetch begins and in whichever segment the transaction began.

    Three transactions interleave, the middle one commits; a new segment begins before they end.
    """
    topic = topic_of(configs={"segment.ms": "60000"})
    producers = [wire.producer(transactional_id if n == 0 else wire.name("x")) for n in range(3)]
    t = wire.now_ms() - 600_000
    firsts = [producer.send(topic, f"first {n}", timestamp=t).offset for n, producer in enumerate(producers)]
    wire.produce(topic, batch(records=[Record(key=None, value=b"a new segment", timestamp=wire.now_ms())]))
    for n, producer in enumerate(producers):
        producer.send(topic, f"second {n}")
    for n in (2, 1, 0):
        (producers[n].commit if n == 1 else producers[n].abort)().must_succeed()
    end = wire.await_settled(topic)

    ids = [producer.id for producer in producers]
    wire.read_all(topic, isolation=COMMITTED).must_hold("first 1", "a new segment", "second 1")
    for offset in range(end):
        answer = wire.fetch(topic, offset=offset, isolation=COMMITTED)
        held = {part.header.producer_id for part in answer.batches if not part.header.is_control}
        for n in (0, 2):
            answer.must(
                ids[n] not in held or (ids[n], firsts[n]) in answer.aborted,
                f"from offset {offset} it holds records of producer {ids[n]}, whose transaction began at {firsts[n]} "
                f"and was aborted, but names only {answer.aborted}",
                f"{answer.row}.aborted_transactions",
            )
