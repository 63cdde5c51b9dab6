"""The classic group protocol, one rule a test, against the pure machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.group import rebalance
from brokertrial.reference_impl.group.classic import GroupState, restored
from brokertrial.reference_impl.group.commits import commit_refusal
from brokertrial.reference_impl.group.joining import GroupLimits
from brokertrial.wire import errors
from tests.reference_impl_coordinators.group_driver import REBALANCE_MS, SESSION_MS, Play


@pytest.fixture(autouse=True)
def healthy() -> Iterator[None]:
    yield
    bugs.clear()


def test_a_new_member_is_asked_to_come_back_with_an_id() -> None:
    play = Play()
    first = play.joined(play.join())
    assert first.error == errors.MEMBER_ID_REQUIRED and first.member_id
    assert play.group.state is GroupState.EMPTY

    ticket = play.join(first.member_id)
    play.advance(0)
    assert play.joined(ticket).error == errors.NONE
    assert play.joined(ticket).generation == 1
    assert play.joined(ticket).leader == first.member_id


def test_old_clients_join_without_an_id() -> None:
    play = Play()
    ticket = play.join(id_required=False)
    play.advance(0)
    assert play.joined(ticket).error == errors.NONE


def test_only_the_leader_gets_the_list_of_members() -> None:
    play = Play(GroupLimits(initial_delay_ms=100))
    (_, first), (_, second) = play.enter(), play.enter()
    play.advance(REBALANCE_MS)
    rosters = [play.joined(t).members for t in (first, second)]
    assert [len(r) for r in rosters] == [2, 0]
    assert rosters[0][0].metadata == b"meta-range"


def test_the_first_rebalance_waits_for_company_and_each_newcomer_extends_it() -> None:
    play = Play(GroupLimits(initial_delay_ms=100))
    _, first = play.enter()
    play.advance(60)
    _, second = play.enter()
    play.advance(99)
    assert first not in play.answers
    play.advance(50)
    assert {first, second} <= play.answers.keys()


def test_the_protocol_with_the_most_votes_wins() -> None:
    play = Play(GroupLimits(initial_delay_ms=10))
    tickets = [play.enter(protocols=p)[1] for p in (("a", "b"), ("b", "a"), ("b", "c", "a"))]
    play.advance(REBALANCE_MS)
    assert {play.joined(t).protocol for t in tickets} == {"b"}


def test_of_two_protocols_with_as_many_votes_the_one_wins_that_java_holds_first() -> None:
    for order in ((("range", "rr"), ("rr", "range")), (("rr", "range"), ("range", "rr"))):
        play = Play(GroupLimits(initial_delay_ms=10))
        tickets = [play.enter(protocols=p)[1] for p in order]
        play.advance(REBALANCE_MS)
        assert {play.joined(t).protocol for t in tickets} == {"rr"}


def test_a_member_without_a_common_protocol_is_turned_away_and_disturbs_nobody() -> None:
    play = Play()
    (leader,) = play.stable(1)
    assert play.joined(play.join(protocols=("z",))).error == errors.INCONSISTENT_GROUP_PROTOCOL
    assert play.joined(play.join(protocol_type="connect")).error == errors.INCONSISTENT_GROUP_PROTOCOL
    assert play.heartbeat(leader, 1) == errors.NONE


def test_followers_wait_for_the_leader_and_get_its_bytes() -> None:
    play = Play(GroupLimits(initial_delay_ms=10))
    (leader, _), (follower, _) = play.enter(), play.enter()
    play.advance(100)
    waiting = play.sync(follower, 1)
    assert waiting not in play.answers
    play.sync(leader, 1, {leader: b"L", follower: b"\x00\xff"})
    assert play.synced(waiting).assignment == b"\x00\xff"
    assert play.saved[-1].generation == 1
    assert play.synced(play.sync(follower, 1)).assignment == b"\x00\xff"


def test_sync_is_refused_for_strangers_old_generations_and_wrong_protocols() -> None:
    play = Play()
    (member,) = play.stable(1)
    assert play.synced(play.sync("stranger", 1)).error == errors.UNKNOWN_MEMBER_ID
    assert play.synced(play.sync(member, 0)).error == errors.ILLEGAL_GENERATION
    assert play.synced(play.sync(member, 1, protocol="sticky")).error == errors.INCONSISTENT_GROUP_PROTOCOL
    assert play.synced(play.sync(member, 1, protocol_type="connect")).error == errors.INCONSISTENT_GROUP_PROTOCOL


def test_heartbeats_report_a_rebalance_only_while_members_are_called_back() -> None:
    play = Play(GroupLimits(initial_delay_ms=10))
    (one, first), (two, _) = play.enter(), play.enter()
    play.advance(100)
    assert play.joined(first).generation == 1
    assert play.heartbeat(one, 1) == errors.NONE, "CompletingRebalance"
    play.settle()
    play.leave((two, None))
    assert play.heartbeat(one, 1) == errors.REBALANCE_IN_PROGRESS
    assert play.heartbeat(two, 1) == errors.UNKNOWN_MEMBER_ID
    assert play.heartbeat(one, 7) == errors.ILLEGAL_GENERATION


def test_a_silent_member_is_expelled_after_its_session_and_not_before() -> None:
    play = Play()
    one, two = play.stable(2)
    generation = play.group.generation
    play.advance(SESSION_MS - 1)
    assert set(play.group.members) == {one, two}
    assert play.heartbeat(one, generation) == errors.NONE
    play.advance(1)
    assert set(play.group.members) == {one}
    assert play.heartbeat(one, generation) == errors.REBALANCE_IN_PROGRESS


def test_a_member_that_does_not_rejoin_is_dropped_after_the_rebalance_timeout() -> None:
    play = Play()
    one, two = play.stable(2)
    generation = play.group.generation
    ticket = play.join(one, protocols=("range", "sticky"))
    for _ in range(9):
        play.advance(REBALANCE_MS // 10)
        assert play.heartbeat(two, generation) == errors.REBALANCE_IN_PROGRESS
    assert ticket not in play.answers
    play.advance(REBALANCE_MS // 10)
    assert play.joined(ticket).generation == generation + 1
    assert set(play.group.members) == {one}


def test_a_member_that_never_syncs_does_not_block_the_group() -> None:
    play = Play(GroupLimits(initial_delay_ms=10))
    (one, _), (two, _) = play.enter(), play.enter()
    play.advance(100)
    waiting = play.sync(two, 1)
    for _ in range(10):
        assert waiting not in play.answers
        play.heartbeat(one, 1)
        play.advance(REBALANCE_MS // 10)
    assert play.synced(waiting).error == errors.REBALANCE_IN_PROGRESS
    assert one not in play.group.members
    ticket = play.join(two)
    assert play.joined(ticket).leader == two


def test_leaving_rebalances_at_once_with_one_code_for_each_leaver() -> None:
    play = Play(GroupLimits(initial_delay_ms=10))
    one, _ = play.enter()
    two, _ = play.enter()
    for name in ("x", "y"):
        play.join(instance_id=name)
    play.advance(200)
    play.settle()
    codes = play.leave((two, None), ("", "x"), ("", "y"), ("nobody", None), ("", "nowhere"))
    assert codes == [0, 0, 0, errors.UNKNOWN_MEMBER_ID, errors.UNKNOWN_MEMBER_ID]
    assert play.heartbeat(one, play.group.generation) == errors.REBALANCE_IN_PROGRESS
    play.settle()
    assert play.leave((one, None)) == [0]
    assert play.group.state is GroupState.EMPTY
    assert play.saved[-1].members == ()


def test_a_static_member_returns_without_a_rebalance_and_fences_its_double() -> None:
    play = Play()
    old = play.join(instance_id="i")
    play.advance(0)
    play.settle()
    old_id = play.joined(old).member_id
    generation = play.group.generation
    new = play.joined(play.join(instance_id="i"))
    assert (new.error, new.generation, new.skip_assignment) == (errors.NONE, generation, True)
    assert new.member_id != old_id and new.leader == new.member_id
    assert play.group.state is GroupState.STABLE
    assert play.heartbeat(old_id, generation, "i") == errors.FENCED_INSTANCE_ID
    assert play.synced(play.sync(old_id, generation, instance_id="i")).error == errors.FENCED_INSTANCE_ID
    assert play.joined(play.join(old_id, instance_id="i")).error == errors.FENCED_INSTANCE_ID
    kept = play.synced(play.sync(new.member_id, generation, instance_id="i"))
    assert kept.assignment == f"{old_id}@{generation}".encode()


def test_the_waiting_request_of_a_replaced_static_member_is_fenced() -> None:
    play = Play(GroupLimits(initial_delay_ms=100))
    first = play.join(instance_id="i")
    second = play.join(instance_id="i")
    assert play.joined(first).error == errors.FENCED_INSTANCE_ID
    play.advance(REBALANCE_MS)
    assert play.joined(second).error == errors.NONE


def test_a_full_group_turns_newcomers_away() -> None:
    play = Play(GroupLimits(initial_delay_ms=0, max_size=2))
    one, two = play.stable(2)
    assert play.joined(play.join()).error == errors.GROUP_MAX_SIZE_REACHED
    assert play.heartbeat(one, play.group.generation) == errors.NONE
    assert set(play.group.members) == {one, two}


def test_an_unchanged_follower_that_rejoins_is_told_the_current_generation() -> None:
    play = Play()
    one, two = play.stable(2)
    leader = play.group.leader
    follower = two if leader == one else one
    assert play.joined(play.join(follower)).generation == play.group.generation
    assert play.group.state.value == "Stable"
    play.join(leader or "")
    assert play.group.state.value == "PreparingRebalance"


def test_a_group_read_back_from_the_log_goes_on_and_drops_who_is_gone() -> None:
    play = Play()
    one, two = play.stable(2)
    again = Play()
    again.group = restored(play.saved[-1])
    again.take(rebalance.loaded(again.group, again.now, again.limits))
    generation = again.group.generation
    assert generation == play.group.generation and again.group.subscribes("t") is True
    assert again.heartbeat(one, generation) == errors.NONE
    again.advance(SESSION_MS)
    assert again.group.state is GroupState.EMPTY and two not in again.group.members


def test_who_may_commit() -> None:
    def refusal(member: str = "", generation: int = -1, *, transactional: bool = False, version: int = 9) -> int:
        return commit_refusal(play.group, member, None, generation, transactional=transactional, version=version)

    play = Play(GroupLimits(initial_delay_ms=10))
    assert commit_refusal(None, "", None, -1, transactional=False, version=2) == errors.NONE
    assert commit_refusal(None, "m", None, 1, transactional=False, version=9) == errors.GROUP_ID_NOT_FOUND
    assert commit_refusal(None, "m", None, 1, transactional=False, version=8) == errors.ILLEGAL_GENERATION
    assert commit_refusal(None, "m", None, 1, transactional=True, version=4) == errors.ILLEGAL_GENERATION
    assert refusal() == errors.NONE and refusal("m", 0) == errors.UNKNOWN_MEMBER_ID

    (one, _), (two, _) = play.enter(), play.enter()
    play.advance(100)
    assert refusal(one, 1) == errors.REBALANCE_IN_PROGRESS, "CompletingRebalance"
    assert refusal(one, 1, transactional=True) == errors.NONE
    play.settle()
    generation = play.group.generation
    assert refusal(one, generation) == errors.NONE
    assert refusal() == errors.UNKNOWN_MEMBER_ID, "no stranger while there are members"
    assert refusal(transactional=True) == errors.NONE
    assert refusal(one, generation - 1) == errors.ILLEGAL_GENERATION
    assert refusal("stranger", generation) == errors.UNKNOWN_MEMBER_ID
    play.leave((two, None))
    assert refusal(one, generation) == errors.NONE, "PreparingRebalance: the last chance"


# -- the planted bugs of this machine, each seen to bite ----------------------------------------------------------


def test_m23_lets_a_zombie_commit() -> None:
    play = Play()
    (one,) = play.stable(1)
    play.leave((one, None))
    assert commit_refusal(play.group, one, None, 1, transactional=False, version=9) == errors.UNKNOWN_MEMBER_ID
    bugs.plant("M23")
    assert commit_refusal(play.group, one, None, 1, transactional=False, version=9) == errors.NONE


def test_m24a_gives_two_members_the_same_partition() -> None:
    bugs.plant("M24a")
    play = Play()
    one, two = play.stable(2)
    before = {m.member_id: m.assignment for m in play.group.members.values()}
    play.join(play.group.leader or "")
    play.settle()
    follower = two if play.group.leader == one else one
    assert play.group.members[follower].assignment == before[follower]


@pytest.mark.parametrize(("bug", "still_there"), [("M26", True), ("M26b", False)])
def test_m26_gets_sessions_wrong(bug: str, still_there: bool) -> None:
    bugs.plant(bug)
    play = Play()
    (one,) = play.stable(1)
    play.advance(SESSION_MS // 2 if bug == "M26b" else 10 * SESSION_MS)
    assert (one in play.group.members) is still_there


def test_m26c_lets_one_member_block_all() -> None:
    bugs.plant("M26c")
    play = Play(GroupLimits(initial_delay_ms=10))
    (one, _), (two, _) = play.enter(), play.enter()
    play.advance(100)
    waiting = play.sync(two, 1)
    for _ in range(30):
        play.advance(REBALANCE_MS // 10)
        play.heartbeat(one, 1)
    assert waiting not in play.answers


@pytest.mark.parametrize(("bug", "rise"), [("M27", 0), ("M27b", 2)])
def test_m27_gets_the_generation_wrong(bug: str, rise: int) -> None:
    play = Play()
    play.stable(1)
    before = play.group.generation
    bugs.plant(bug)
    play.enter()
    play.settle()
    assert play.group.generation == before + rise


def test_m25_never_expels_members_from_before_a_restart() -> None:
    play = Play()
    (one,) = play.stable(1)
    bugs.plant("M25")
    again = Play()
    again.group = restored(play.saved[-1])
    again.take(rebalance.loaded(again.group, again.now, again.limits))
    again.advance(100 * SESSION_MS)
    assert one in again.group.members


@pytest.mark.timeout(30)
@pytest.mark.parametrize("timeout_ms", [-(2**31), -1, 0, 1])
def test_members_that_allow_no_time_to_join_hold_nobody_up(timeout_ms: int) -> None:
    play = Play()
    (patient,) = play.stable(1)
    play.join(instance_id="i", rebalance_timeout_ms=timeout_ms)
    play.settle()
    play.leave((patient, None))
    assert play.group.state is GroupState.PREPARING

    play.advance(SESSION_MS - 1)
    assert len(play.group.members) == 1
    play.advance(1)
    assert play.group.state is GroupState.EMPTY
