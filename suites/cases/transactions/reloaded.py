"""Transactions whose coordinator, or the group's, crashes in the midst of them and reads its log again."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED
from brokertrial.wire import errors

TRANSACTIONS = {"AddPartitionsToTxn": 0, "EndTxn": 0}
OFFSETS = {"AddOffsetsToTxn": 0, "TxnOffsetCommit": 0, "EndTxn": 0, "OffsetFetch": 2}
TRANSACTION = 1
WITHIN_S = 30
PATIENT_MS = 60_000
"""Of a transaction: longer than any crash and the way back take, and no longer than a careful broker allows."""


@case(
    "transactions/open-outlives-its-coordinator",
    guarantees=["txn-021", "txn-001"],
    needs=["kill", "restart"],
    apis=TRANSACTIONS,
    detects=["M18d"],
)
def a_transaction_goes_on_after_its_coordinator_crashed(wire, topic_of, transactional_id, nodes):
    """When the coordinator crashes in the middle of a transaction, a commit that it acknowledges afterwards MUST make
    all of the transaction visible, what was written before the crash too.
    """
    before, after = topic_of(what="before"), topic_of(what="after")
    producer = wire.producer(transactional_id, timeout_ms=PATIENT_MS)
    producer.send(before, "a").must_succeed()
    nodes.crash(_coordinator(wire, transactional_id))
    for topic in (before, after):
        wire.await_topic(topic)

    producer.send(after, "b").must_succeed()
    producer.commit().must_succeed()
    for topic, value in ((before, "a"), (after, "b")):
        wire.eventually(
            lambda topic=topic, value=value: wire.read_all(topic, isolation=COMMITTED).must_hold(value), within=WITHIN_S
        )


@case(
    "transactions/staged-offsets-outlive-a-crash",
    guarantee="txn-012",
    needs=["kill", "restart"],
    apis=OFFSETS,
    detects=["M19b"],
)
def offsets_of_an_open_transaction_outlive_the_coordinator(wire, topic, group, transactional_id, nodes):
    """Offsets sent in a transaction MUST come into force with its commit although the group's coordinator crashed in
    between, and MUST stay out of force until then.
    """
    wire.commit(group, topic, offset=1)
    producer = wire.producer(transactional_id, timeout_ms=PATIENT_MS)
    producer.send_offsets(group, {(topic, 0): 5}).must_succeed()
    nodes.crash(nodes.of_group(group))
    wire.await_topic(topic)

    # A new coordinator reads at its own high watermark, which may lag behind what was shown before, as in KIP-207.
    wire.eventually(lambda: wire.committed(group, topic).must_be(1), within=WITHIN_S)
    producer.commit().must_succeed()
    wire.eventually(lambda: wire.committed(group, topic).must_be(5), within=WITHIN_S)


@case(
    "transactions/plain-commit-in-between",
    guarantees=["txn-025", "cmt-002"],
    needs=["kill", "restart"],
    apis=OFFSETS,
    detects=["M21b"],
)
def of_a_plain_and_a_transactional_commit_the_later_in_the_log_wins(wire, topic_of, group, transactional_id, nodes):
    """Of an offset in a transaction and a plain one, the one that lies later in the log MUST be in force once the
    transaction has committed, and the same one after the coordinator has read its log again.
    """
    late, early = topic_of(what="plain-is-later"), topic_of(what="plain-is-earlier")
    producer = wire.producer(transactional_id, timeout_ms=PATIENT_MS)
    wire.commit(group, early, offset=5)
    producer.send_offsets(group, {(late, 0): 9, (early, 0): 9}).must_succeed()
    wire.commit(group, late, offset=5)
    producer.commit().must_succeed()
    wire.eventually(lambda: wire.committed(group, early).must_be(9), within=WITHIN_S)
    wire.committed(group, late).must_be(5)

    nodes.crash(nodes.of_group(group))
    wire.await_topic(late)
    # A new coordinator reads at its own high watermark, which may lag behind what was shown before, as in KIP-207.
    wire.eventually(lambda: wire.committed(group, early).must_be(9), within=WITHIN_S)
    wire.eventually(lambda: wire.committed(group, late).must_be(5), within=WITHIN_S)


@case(
    "transactions/topic-deleted-under-it",
    guarantee="txn-024",
    apis={**TRANSACTIONS, "CreateTopics": 0, "DeleteTopics": 0},
    detects=["M40f", "N01"],
)
def a_topic_may_be_deleted_under_an_open_transaction(wire, topic_of, transactional_id):
    """When a topic with an open transaction is deleted, the transaction SHOULD end for the remaining topics, and a
    topic that is created again under that name SHOULD know nothing of it.

    Two topics are deleted, and one of them is created again before the transaction ends.
    """
    kept, gone, left = (topic_of(what=what) for what in ("kept", "gone", "left"))
    producer = wire.producer(transactional_id, timeout_ms=PATIENT_MS)
    for topic in (kept, gone, left):
        producer.send(topic, "old").must_succeed()
    wire.delete_topic(gone, left).must_succeed()
    wire.until(
        lambda: wire.create_topic(gone).error != errors.TOPIC_ALREADY_EXISTS, within=20, what="the name is free again"
    )
    wire.await_topic(gone)

    producer.commit().must_succeed()
    wire.await_settled(kept, within=WITHIN_S)
    wire.read_all(kept, isolation=COMMITTED).must_hold("old")
    producer.send(gone, "new", sequence=0).must_succeed()  # a new log begins anew
    producer.commit().must_succeed()
    wire.await_settled(gone, within=WITHIN_S)
    wire.read_all(gone, isolation=COMMITTED).must_hold("new")


def _coordinator(wire, transactional_id):
    """The node that coordinates a transactional id now."""
    wire.forget_coordinator(transactional_id, TRANSACTION)
    return wire.coordinator(transactional_id, TRANSACTION)
