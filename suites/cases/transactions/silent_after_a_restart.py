"""Transactions whose producers are not heard of again once their coordinator was stopped or killed."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED

CLEAN_UP = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
PRODUCERS, TIMEOUT_MS, WITHIN_S = 6, 12_000, 40


@case(
    "transactions/expires-though-nobody-goes-on",
    guarantees=["txn-008", "txn-012", "txn-021"],
    apis={"AddPartitionsToTxn": 0, "AddOffsetsToTxn": 0, "TxnOffsetCommit": 0, "OffsetFetch": 7},
    needs=["partitions", "kill", "terminate", "restart"],
    detects=["B313"],
)
def a_coordinator_looks_after_what_it_was_left(wire, topic_of, nodes, rng):
    """A transaction that was open when its coordinator was stopped or killed MUST be aborted once its timeout is over,
    with its records and offsets, by whoever coordinates it then, though its producer is never heard of again.

    Six producers with timeouts of twelve seconds, each with a record in a partition and an offset of its own group.
    """
    wire.needs_setting(CLEAN_UP, at_most=10_000)
    topic = topic_of(partitions=PRODUCERS, replicas=1)
    producers = [wire.producer(wire.name(f"x{number}"), timeout_ms=TIMEOUT_MS) for number in range(PRODUCERS)]
    groups = [wire.name("g") for _ in producers]
    for number, (producer, group) in enumerate(zip(producers, groups, strict=True)):
        producer.send(topic, "open", partition=number).must_succeed()
        producer.send_offsets(group, {(topic, number): 5}).must_succeed()
    act = rng.choice((nodes.crash, nodes.stop_and_start))
    act(wire.coordinator(rng.choice(producers).transactional_id, 1))
    wire.await_topic(topic)
    for number, group in enumerate(groups):
        wire.await_settled(topic, number, within=WITHIN_S)
        wire.read_all(topic, number, isolation=COMMITTED).must_hold()
        wire.eventually(
            lambda group=group, number=number: wire.committed(group, topic, number, require_stable=True).must_be(-1),
            within=WITHIN_S,
        )
