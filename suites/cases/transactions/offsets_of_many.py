"""Offsets in transactions: of three transactions for one partition, of three groups in one, said twice (KIP-98)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import rebalance
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile
from brokertrial.wire import errors

OFFSETS = {"AddOffsetsToTxn": 0, "TxnOffsetCommit": 0, "EndTxn": 0, "OffsetFetch": 7}
WITHIN_S = 10
COMMITTED_OFFSET = "groups[].topics[].partitions[].committed_offset"


@case("transactions/three-for-one-offset", guarantees=["txn-025", "txn-012"], apis=OFFSETS, detects=["M21b"])
def the_offset_that_was_staged_last_is_in_force(wire, topic, group, transactional_id):
    """Where several transactions stage an offset for the same partition, the one that was staged last of those that
    committed MUST be in force, in whatever order they end, and the partition MUST be unstable until all have ended.

    Four stage 10, 20, 30 and 40; the third commits, then the first, the fourth aborts, the second commits.
    """
    producers = [wire.producer(transactional_id if n == 0 else wire.name(f"x{n}")) for n in range(4)]
    wire.commit(group, topic, offset=1)
    for number, producer in enumerate(producers):
        producer.send_offsets(group, {(topic, 0): 10 * (number + 1)}).must_succeed()
    wire.committed(group, topic).must_be(1)
    first, second, third, fourth = producers

    third.commit().must_succeed()
    wire.eventually(lambda: wire.committed(group, topic).must_be(30), within=WITHIN_S)
    for end in (first.commit, fourth.abort):
        end().must_succeed()
        wire.committed(group, topic, require_stable=True).must_be_refused(errors.UNSTABLE_OFFSET_COMMIT)
        wire.committed(group, topic).must_be(30)
    second.commit().must_succeed()
    wire.eventually(lambda: wire.committed(group, topic, require_stable=True).must_be(30), within=WITHIN_S)


@case(
    "transactions/offsets-of-three-groups",
    guarantees=["txn-012", "txn-014"],
    apis=OFFSETS,
    detects=["M19a", "M19c"],
)
def a_transaction_may_hold_the_offsets_of_several_groups(wire, topic_of, group, transactional_id):
    """The end of a transaction MUST decide over the offsets of every group that it holds, and over no other group's.

    Three groups, two partitions each; one transaction aborts, the next brings offsets of two of them and commits.
    """
    topic, other = topic_of(), topic_of(what="other")
    groups = [group, wire.name("g1"), wire.name("g2")]
    producer = wire.producer(transactional_id)
    for number, name in enumerate(groups):
        producer.send_offsets(name, {(topic, 0): 10 + number, (other, 0): 20 + number}).must_succeed()
    producer.abort().must_succeed()
    for number, name in enumerate(groups[:2]):
        producer.send_offsets(name, {(topic, 0): 30 + number, (other, 0): 40 + number}).must_succeed()
    for name in groups:
        wire.committed(name, topic).must_be(-1)
    producer.commit().must_succeed()

    for number, name in enumerate(groups):
        wanted = (30 + number, 40 + number) if number < 2 else (-1, -1)
        for place, offset in zip((topic, other), wanted, strict=True):
            wire.eventually(
                lambda name=name, place=place, offset=offset: wire.committed(name, place, require_stable=True).must_be(
                    offset
                ),
                within=WITHIN_S,
            )


@case("transactions/offset-said-twice", guarantee="txn-012", apis=OFFSETS, detects=["M19a", "M19c"])
def the_last_offset_said_in_a_transaction_counts(wire, topic_of, group, transactional_id):
    """Of several offsets that a transaction stages for one partition the last MUST come into force, also where it is
    the lowest; and those staged for other partitions in between stay as they are.
    """
    topic, other = topic_of(), topic_of(what="other")
    producer = wire.producer(transactional_id)
    for said in ({(topic, 0): 5, (other, 0): 50}, {(topic, 0): 9}, {(topic, 0): 3}):
        producer.send_offsets(group, said).must_succeed()
    producer.commit().must_succeed()
    wire.eventually(lambda: wire.committed(group, topic, require_stable=True).must_be(3), within=WITHIN_S)
    wire.eventually(lambda: wire.committed(group, other, require_stable=True).must_be(50), within=WITHIN_S)

    producer.send_offsets(group, {(topic, 0): 7}).must_succeed()
    producer.send_offsets(group, {(topic, 0): 8}).must_succeed()
    producer.abort().must_succeed()
    wire.eventually(lambda: wire.committed(group, topic, require_stable=True).must_be(3), within=WITHIN_S)


@case(
    "transactions/offsets-deleted-under-it",
    guarantees=["txn-012", "cmt-014"],
    apis={**OFFSETS, "OffsetDelete": 0},
    detects=["N02", edit_answer(COMMITTED_OFFSET, set=-1, api="OffsetFetch", skip=1)],
)
def an_offset_deleted_under_a_transaction_may_be_staged_again(wire, topic_of, group, transactional_id):
    """OffsetDelete under a transaction MUST leave the offsets of other partitions alone, in force or staged, and an
    offset that is staged afterwards MUST come into force with the commit.
    """
    topic, other = topic_of(), topic_of(what="other")
    wire.commit_all(group, {(topic, 0): 1, (other, 0): 2}).must_succeed()
    producer = wire.producer(transactional_id)
    producer.send_offsets(group, {(other, 0): 6}).must_succeed()
    wire.delete_offsets(group, [(topic, 0)]).must_succeed()
    wire.committed(group, topic, require_stable=True).must_be(-1)
    wire.committed(group, other).must_be(2)
    producer.send_offsets(group, {(topic, 0): 5}).must_succeed()
    producer.commit().must_succeed()
    for place, offset in ((topic, 5), (other, 6)):
        wire.eventually(
            lambda place=place, offset=offset: wire.committed(group, place, require_stable=True).must_be(offset),
            within=WITHIN_S,
        )


@case(
    "transactions/offsets-of-an-old-member",
    guarantee="txn-015",
    apis={**OFFSETS, "TxnOffsetCommit": 3, "JoinGroup": 5, "SyncGroup": 3, "LeaveGroup": 3},
    detects=["M23"],
)
def offsets_of_a_generation_that_is_over_are_refused(wire, topic, group, transactional_id):
    """TxnOffsetCommit of a member in the generation before MUST be refused (22), of one that has left with 25, and none
    of it MUST be in force after the commit; without a member id it MUST be accepted, whichever members the group has.
    """
    stays, goes = wire.member(group, "stays"), wire.member(group, "goes")
    rebalance(stays, goes)
    before = stays.generation
    producer = wire.producer(transactional_id)
    goes.leave().must_succeed()
    stays.await_rebalance()
    rebalance(stays)

    def sent(offset, generation, member_id):
        return producer.send_offsets(group, {(topic, 0): offset}, generation=generation, member_id=member_id)

    sent(5, before, stays.id).must_be_refused(errors.ILLEGAL_GENERATION)
    sent(6, before, goes.id).must_be_refused(errors.UNKNOWN_MEMBER_ID)
    sent(7, stays.generation, goes.id).must_be_refused(errors.UNKNOWN_MEMBER_ID)
    producer.send_offsets(group, {(topic, 0): 8}).must_succeed()
    sent(9, before, stays.id).must_be_refused(errors.ILLEGAL_GENERATION)
    wire.committed(group, topic).must_be(-1)
    producer.commit().must_succeed()
    wire.eventually(lambda: wire.committed(group, topic, require_stable=True).must_be(8), within=WITHIN_S)


@case(
    "transactions/offsets-of-a-consumer",
    guarantees=["txn-015", "g848-004"],
    apis={**OFFSETS, "TxnOffsetCommit": 3, "ConsumerGroupHeartbeat": 1},
    features={"group.version": 1},
    detects=["M24f", edit_answer("topics[].partitions[].error_code", set=0, api="TxnOffsetCommit")],
)
def offsets_of_a_consumer_in_a_wrong_epoch_are_refused(wire, topic, group, transactional_id):
    """TxnOffsetCommit of a KIP-848 member MUST be accepted in its member epoch and refused in one that never existed
    (22, or 113), and refused with 25 for a member that the group does not have; only the accepted one MUST come into
    force.
    """
    member = ConsumerGroupMember(wire, group, topic)
    member.beat()
    reconcile(member, partitions=len(wire.known_partitions(topic)))
    producer = wire.producer(transactional_id)

    def sent(offset, generation, member_id):
        return producer.send_offsets(group, {(topic, 0): offset}, generation=generation, member_id=member_id)

    sent(5, member.epoch, member.id).must_succeed()
    sent(6, member.epoch + 1, member.id).must_be_refused(errors.ILLEGAL_GENERATION, errors.STALE_MEMBER_EPOCH)
    sent(7, member.epoch, wire.name("stranger")).must_be_refused(errors.UNKNOWN_MEMBER_ID)
    producer.commit().must_succeed()
    wire.eventually(lambda: wire.committed(group, topic, require_stable=True).must_be(5), within=WITHIN_S)
