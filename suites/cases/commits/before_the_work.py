"""Who commits before it works: at most once (Kafka documentation, Message Delivery Semantics)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch, rebalance
from brokertrial.wire import errors

COMMITS = {"OffsetCommit": 2, "OffsetFetch": 2, "JoinGroup": 0, "SyncGroup": 0, "Heartbeat": 0}
LEAST = "group.min.session.timeout.ms"


@case(
    "commits/before-the-work",
    guarantees=["cmt-006", "grp-024"],
    apis=COMMITS,
    detects=["M23", edit_answer("topics[].partitions[].error_code", set=0, api="OffsetCommit")],
)
def who_commits_first_is_given_nothing_twice(wire, topic, group):
    """Where a consumer commits before it works and crashes, the next owner of its partition MUST go on after the
    commit: nothing is delivered twice. The late commit of the one that crashed MUST be refused (25) and change nothing.

    It committed all six records before it worked on any. Its successor gets what is written afterwards, and no other.
    """
    wire.needs_setting(LEAST, at_most=6_000)
    session_ms = max(2_000, int(wire.setting(LEAST) or 6_000))
    for number in range(6):
        wire.produce(topic, batch(str(number))).must_be_at(number)
    crashes = wire.member(group, "crashes", session_timeout_ms=session_ms, rebalance_timeout_ms=session_ms)
    rebalance(crashes)
    crashes.commit(topic, offset=6).must_succeed()
    wire.connect("crashes", wire.coordinator(group)).close()
    wire.produce(topic, batch("6")).must_be_at(6)

    comes = wire.member(group, "comes", session_timeout_ms=session_ms)
    joined = comes.join().must_succeed()
    joined.must(joined.members and set(joined.members) == {comes.id}, "the crashed consumer must be gone", "members")
    comes.sync({comes.id: b"all"}).must_bring(b"all")
    wire.committed(group, topic).must_be(6)
    wire.read_all(topic, offset=6).must_hold("6")
    comes.commit(topic, offset=7).must_succeed()

    for offset in (2, 9):
        late = wire.commit(group, topic, offset=offset, member_id=crashes.id, generation=crashes.generation)
        late.must_be_refused(errors.UNKNOWN_MEMBER_ID)
        wire.committed(group, topic).must_be(7)
