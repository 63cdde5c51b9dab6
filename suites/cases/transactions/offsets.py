"""Offsets of a group that are committed with a transaction (KIP-98, KIP-447)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.wire import errors

OFFSETS = {"AddOffsetsToTxn": 0, "TxnOffsetCommit": 0, "EndTxn": 0, "OffsetFetch": 2}
TAKEN = edit_answer("topics[].partitions[].error_code", set=0, api="TxnOffsetCommit")


@case("transactions/offsets-with-the-commit", guarantee="txn-012", apis=OFFSETS, smoke=True, detects=["M19a", "M19c"])
def offsets_come_into_force_with_the_commit_and_vanish_with_an_abort(wire, topic, group, transactional_id):
    """Offsets sent in a transaction MUST stay out of force until it commits and MUST vanish when it aborts."""
    wire.commit(group, topic, offset=1)
    producer = wire.producer(transactional_id)
    producer.send_offsets(group, {(topic, 0): 5}).must_succeed()
    wire.committed(group, topic).must_be(1)
    producer.commit().must_succeed()
    wire.eventually(lambda: wire.committed(group, topic).must_be(5), within=10)

    producer.send_offsets(group, {(topic, 0): 9}).must_succeed()
    wire.committed(group, topic).must_be(5)
    producer.abort().must_succeed()
    producer.send_offsets(group, {(topic, 0): 7}).must_succeed()
    wire.committed(group, topic).must_be(5)
    producer.commit().must_succeed()
    wire.eventually(lambda: wire.committed(group, topic).must_be(7), within=10)


@case(
    "transactions/unstable-offsets",
    guarantees=["txn-012", "cmt-016"],
    apis={**OFFSETS, "OffsetFetch": 7},
    detects=["M19a"],
)
def a_reader_that_wants_stable_offsets_has_to_wait(wire, topic_of, group, transactional_id):
    """OffsetFetch with require_stable MUST answer UNSTABLE_OFFSET_COMMIT (88) for a partition with offsets in an open
    transaction, and for no other; when the transaction has ended, the offset in force.
    """
    topic, other = topic_of(what="in-it"), topic_of(what="not-in-it")
    wire.commit(group, other, offset=3)
    producer = wire.producer(transactional_id)
    producer.send_offsets(group, {(topic, 0): 5}).must_succeed()

    wire.committed(group, topic, require_stable=True).must_be_refused(errors.UNSTABLE_OFFSET_COMMIT)
    wire.committed(group, other, require_stable=True).must_be(3)

    producer.abort().must_succeed()
    wire.eventually(lambda: wire.committed(group, topic, require_stable=True).must_be(-1), within=10)


@case("transactions/offsets-alone", guarantee="txn-014", apis=OFFSETS, detects=["M19a", "M19c"])
def a_transaction_of_offsets_alone_leaks_nothing(wire, topic, group, transactional_id):
    """A transaction that holds only offsets MUST commit and abort like any other, and the next one, which has none,
    MUST leave the group's offsets alone however it ends.
    """
    producer = wire.producer(transactional_id)
    producer.send_offsets(group, {(topic, 0): 5}).must_succeed()
    producer.commit().must_succeed()
    producer.send(topic, "aborted")
    producer.abort().must_succeed()
    wire.eventually(lambda: wire.committed(group, topic).must_be(5), within=10)

    producer.send_offsets(group, {(topic, 0): 9}).must_succeed()
    producer.abort().must_succeed()
    producer.send(topic, "committed")
    producer.commit().must_succeed()
    wire.await_settled(topic)
    wire.committed(group, topic).must_be(5)


@case(
    "transactions/offsets-of-a-stranger",
    guarantee="txn-015",
    apis={**OFFSETS, "TxnOffsetCommit": 3, "JoinGroup": 5, "SyncGroup": 3},
    detects=["M23"],
)
def offsets_of_a_member_that_is_none_are_refused(wire, topic, group, transactional_id):
    """TxnOffsetCommit MUST be refused for an old generation (22), for a member that the group does not have (25) and
    for an instance that another member holds (82); for the member itself it MUST be accepted.
    """
    member = wire.member(group, instance_id="i-1")
    member.join().must_succeed()
    member.sync({member.id: b"all"}).must_succeed()
    producer = wire.producer(transactional_id)

    def sent(generation, member_id, instance_id=None):
        return producer.send_offsets(
            group, {(topic, 0): 5}, generation=generation, member_id=member_id, instance_id=instance_id
        )

    sent(member.generation + 1, member.id).must_be_refused(errors.ILLEGAL_GENERATION)
    sent(member.generation, "stranger").must_be_refused(errors.UNKNOWN_MEMBER_ID)
    sent(member.generation, "stranger", "i-1").must_be_refused(errors.FENCED_INSTANCE_ID)
    wire.committed(group, topic).must_be(-1)
    sent(member.generation, member.id, "i-1").must_succeed()
    producer.commit().must_succeed()
    wire.eventually(lambda: wire.committed(group, topic).must_be(5), within=10)


@case("transactions/offsets-of-a-fenced-producer", guarantee="txn-015", apis=OFFSETS, detects=[TAKEN])
def offsets_of_a_fenced_producer_are_refused(wire, topic_of, group, transactional_id):
    """TxnOffsetCommit with an old producer epoch MUST be refused (47 or 90) and MUST leave no trace.

    The late offset is of another topic: for the same partition Kafka 3.9 forgets the newer producer's offset with it.
    """
    topic, other = topic_of(what="newer"), topic_of(what="older")
    older = wire.producer(transactional_id)
    older.send_offsets(group, {(topic, 0): 5}).must_succeed()
    newer = wire.producer(transactional_id)
    newer.send_offsets(group, {(topic, 0): 7}).must_succeed()

    late = wire.txn_offset_commit(transactional_id, older.id, older.epoch, group, {(other, 0): 9})
    late.must_be_refused(errors.INVALID_PRODUCER_EPOCH, errors.PRODUCER_FENCED)

    newer.commit().must_succeed()
    wire.eventually(lambda: wire.committed(group, topic).must_be(7), within=10)
    wire.committed(group, other).must_be(-1)


@case("transactions/offsets-of-no-partition", guarantees=["txn-015", "cmt-009"], apis=OFFSETS, detects=[TAKEN])
def the_offset_of_a_partition_that_is_not_there_is_refused_alone(wire, topic, group, transactional_id):
    """TxnOffsetCommit of a partition that does not exist MUST be refused for that partition (3), and the others of the
    request MUST be accepted.
    """
    producer = wire.producer(transactional_id)
    answer = producer.send_offsets(group, {(topic, 0): 5, (topic, 9): 5})
    codes = {row.partition_index: row.error_code for row in answer.struct.topics[0].partitions}
    answer.must(
        codes == {0: errors.NONE, 9: errors.UNKNOWN_TOPIC_OR_PARTITION},
        f"the error codes by partition are {codes}; they must be 0 for partition 0 and 3 for partition 9",
        "topics",
    )
    producer.commit().must_succeed()
    wire.eventually(lambda: wire.committed(group, topic).must_be(5), within=10)
