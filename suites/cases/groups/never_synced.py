"""Members that join and never send SyncGroup, leader or not: the others go on without them (KAFKA-9752)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import join_together
from brokertrial.wire import errors

REBALANCE_MS, WITHIN_S = 2_000, 15


@case(
    "groups/one-of-three-never-syncs",
    guarantees=["grp-013", "grp-006"],
    apis={"JoinGroup": 1, "SyncGroup": 0, "Heartbeat": 0},
    detects=["M26c"],
)
def whoever_never_syncs_is_left_behind(wire, group, rng):
    """A member that joins and sends no SyncGroup within the rebalance timeout MUST be dropped, whether it leads or not
    and whatever the length of its session; the others MUST be called to a new generation, and the dropped one is
    refused as unknown then.

    Three members; the one that never syncs is drawn, and goes on sending heartbeats.
    """
    for turn in range(2):
        members = [wire.member(group, f"{name}{turn}", rebalance_timeout_ms=REBALANCE_MS) for name in "abc"]
        leader = join_together(*members)
        mute = leader if turn == 0 else rng.choice([member for member in members if member is not leader])
        others = [member for member in members if member is not mute]
        given = {member.id: member.name.encode() for member in members}
        synced = [member.sync(given if member is leader else None, wait=False) for member in others]
        mute.heartbeat().must_succeed()
        if mute is not leader:
            for member, answer in zip(others, synced, strict=True):
                answer.must_bring(given[member.id])
        called = others[0].await_rebalance(within=WITHIN_S)
        called.must_be_refused(errors.REBALANCE_IN_PROGRESS)
        if mute is leader:
            for answer in synced:
                answer.must_be_refused(errors.REBALANCE_IN_PROGRESS)
        for member in others:
            member.begin_join()
        joined = [member.finish_join().must_succeed() for member in others]
        found = next(set(answer.members) for answer in joined if answer.members)
        joined[0].must(found == {member.id for member in others}, f"who never synced is still there: {sorted(found)}")
        mute.heartbeat().must_be_refused(errors.UNKNOWN_MEMBER_ID)
        for member in others:
            member.leave().must_succeed()
