"""Who may commit for a group, and when (consumer group protocol, KIP-122)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch, rebalance
from brokertrial.wire import errors

COMMITS = {"OffsetCommit": 2, "OffsetFetch": 2, "JoinGroup": 0, "SyncGroup": 0, "Heartbeat": 0}
LEAST = "group.min.session.timeout.ms"


@case("commits/lower-offset", guarantee="cmt-008", apis={**COMMITS, "LeaveGroup": 0}, smoke=True, detects=["M28b"])
def a_lower_offset_is_stored(wire, topic, group):
    """A commit of a lower offset MUST be stored, from a member as from an administrator once the group has none."""
    member = wire.member(group)
    rebalance(member)
    for offset in (100, 10):
        member.commit(topic, offset=offset).must_succeed()
        wire.committed(group, topic).must_be(offset)
    member.leave().must_succeed()
    wire.committed(group, topic).must_be(10)
    wire.commit(group, topic, offset=5).must_succeed()
    wire.committed(group, topic).must_be(5)


@case(
    "commits/while-rebalancing",
    guarantee="cmt-011",
    apis=COMMITS,
    detects=[edit_answer("topics[].partitions[].error_code", set=0, api="OffsetCommit")],
)
def commits_are_taken_until_the_new_generation_is_there(wire, topic, group):
    """A member's commit SHOULD be accepted while the others are awaited to join again, and refused with
    REBALANCE_IN_PROGRESS (27) between the new generation and its assignment.
    """
    member, comes = wire.member(group, "member"), wire.member(group, "comes")
    rebalance(member)
    member.commit(topic, offset=1).must_succeed()

    comes.begin_join()
    member.await_rebalance()
    member.commit(topic, offset=2).must_succeed()

    member.begin_join()
    for each in (member, comes):
        each.finish_join().must_succeed()
    member.commit(topic, offset=3).must_be_refused(errors.REBALANCE_IN_PROGRESS)
    wire.committed(group, topic).must_be(2)

    leader, other = (member, comes) if member.leads else (comes, member)
    leader.sync({other.id: b"other"}).must_succeed()
    other.sync().must_bring(b"other")
    member.commit(topic, offset=4).must_succeed()


@case(
    "commits/from-outside",
    guarantee="cmt-012",
    apis=COMMITS,
    detects=[edit_answer("topics[].partitions[].error_code", set=0, api="OffsetCommit")],
)
def a_commit_from_outside_needs_a_group_without_members(wire, topic, group):
    """A commit without member and generation MUST be accepted for a group that has no members, and refused with
    UNKNOWN_MEMBER_ID (25) for one that has, whose offsets stay as they are.
    """
    wire.commit(group, topic, offset=5).must_succeed()
    wire.committed(group, topic).must_be(5)

    member = wire.member(group)
    rebalance(member)
    wire.commit(group, topic, offset=6).must_be_refused(errors.UNKNOWN_MEMBER_ID)
    wire.committed(group, topic).must_be(5)
    member.commit(topic, offset=7).must_succeed()
    wire.committed(group, topic).must_be(7)


@case(
    "commits/crashed-consumer",
    guarantee="cmt-005",
    apis=COMMITS,
    detects=[
        edit_answer("topics[].partitions[].committed_offset", add=1, api="OffsetFetch"),
        edit_answer("groups[].topics[].partitions[].committed_offset", add=1, api="OffsetFetch"),
    ],
)
def who_comes_after_a_crashed_consumer_goes_on_at_its_last_commit(wire, topic, group):
    """After a consumer crashed, the member that is assigned its partition MUST go on at its last commit: nothing is
    skipped, and what it read and did not commit is read again.

    It has read six records and committed three when its connection breaks without a LeaveGroup. It is removed when its
    session is over, and then the next member is let in.
    """
    wire.needs_setting(LEAST, at_most=6_000)
    session_ms = max(2_000, int(wire.setting(LEAST) or 6_000))
    for number in range(6):
        wire.produce(topic, batch(str(number))).must_be_at(number)
    crashes = wire.member(group, "crashes", session_timeout_ms=session_ms, rebalance_timeout_ms=session_ms)
    rebalance(crashes)
    wire.read_all(topic).must_hold(*(str(number) for number in range(6)))
    crashes.commit(topic, offset=3).must_succeed()
    wire.connect("crashes", wire.coordinator(group)).close()

    comes = wire.member(group, "comes", session_timeout_ms=session_ms)
    joined = comes.join().must_succeed()
    joined.must(joined.members and set(joined.members) == {comes.id}, "the crashed consumer must be gone", "members")
    comes.sync({comes.id: b"all"}).must_bring(b"all")
    wire.committed(group, topic).must_be(3)
    wire.read_all(topic, offset=3).must_hold("3", "4", "5")
    comes.commit(topic, offset=6).must_succeed()
    wire.committed(group, topic).must_be(6)
