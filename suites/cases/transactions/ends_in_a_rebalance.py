"""Transactions that end while the group of their offsets rebalances (KIP-98, KIP-447)."""

from brokertrial.suites.case import case

OFFSETS = {"AddOffsetsToTxn": 0, "TxnOffsetCommit": 3, "EndTxn": 0, "OffsetFetch": 7, "JoinGroup": 5}
LONG_MS, WITHIN_S = 300_000, 20
STAGES = ("joining", "joined")


@case(
    "transactions/ends-in-a-rebalance",
    guarantees=["txn-012", "txn-014", "cmt-002"],
    apis=OFFSETS,
    detects=["Z24"],
)
def the_end_reaches_a_group_that_rebalances(wire, topic, transactional_id):
    """The end of a transaction MUST decide over its offsets of a group that rebalances meanwhile: what was committed is
    in force and what was aborted is gone, and no offset is unstable any more, during the rebalance and after it.

    The offsets are those of a member. Four groups: a commit and an abort, while another member waits for the rest to
    join, and while the leader has still to bring the assignments.
    """
    names = (transactional_id, *(wire.name("x") for _ in range(3)))
    for number, name in enumerate(names):
        commits, stage = number % 2 == 0, STAGES[number // 2]
        with wire.part(f"{'committed' if commits else 'aborted'} while members are {stage}"):
            _ends(wire, topic, wire.producer(name, timeout_ms=LONG_MS), commits, stage)


def _ends(wire, topic, producer, commits, stage):
    group = wire.name("g")
    one, two = (wire.member(group, f"{group} {n}", session_timeout_ms=LONG_MS) for n in (1, 2))
    one.join().must_succeed()
    one.sync({one.id: b"all"}).must_succeed()
    one.commit(topic, offset=3).must_succeed()
    whose = {"member_id": one.id, "generation": one.generation}
    producer.send_offsets(group, {(topic, 0): 9}, **whose).must_succeed()

    two.begin_join()
    if stage == "joined":
        one.begin_join()
        for member in (one, two):
            member.finish_join().must_succeed()
    (producer.commit() if commits else producer.abort()).must_succeed()
    wanted = 9 if commits else 3
    wire.eventually(lambda: wire.committed(group, topic, require_stable=True).must_be(wanted), within=WITHIN_S)

    if stage == "joining":
        one.begin_join()
        for member in (one, two):
            member.finish_join().must_succeed()
    leader, follower = (one, two) if one.leads else (two, one)
    leader.sync({leader.id: b"a", follower.id: b"b"}).must_succeed()
    follower.sync().must_succeed()
    wire.committed(group, topic, require_stable=True).must_be(wanted)
