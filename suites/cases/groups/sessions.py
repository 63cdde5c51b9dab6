"""How long a group waits for a member that does not come (session and rebalance timeouts, KIP-62)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import join_together, rebalance
from brokertrial.wire import errors

GROUPS = {"JoinGroup": 1, "SyncGroup": 0, "Heartbeat": 0}
LEAST, MOST = "group.min.session.timeout.ms", "group.max.session.timeout.ms"
SLOWEST_MS = 6_000
QUICK_MS, LONG_MS = 1_500, 30_000


@case("groups/silent-member-is-expelled", guarantee="grp-011", apis=GROUPS, detects=["M26", "M26b"])
def a_silent_member_is_expelled_when_its_session_ends(wire, group):
    """A member that is silent for its session timeout MUST be expelled, and not before. The heartbeats of the others
    MUST then be answered with REBALANCE_IN_PROGRESS (27), and those of the expelled one with UNKNOWN_MEMBER_ID (25).
    """
    session_ms = _session_ms(wire)
    stays, silent = wire.member(group, "stays"), wire.member(group, "silent", session_timeout_ms=session_ms)
    rebalance(stays, silent)

    last_ms = wire.now_ms()
    silent.heartbeat().must_succeed()
    answer = stays.await_rebalance(within=session_ms / 1000 + 5).must_be_refused(errors.REBALANCE_IN_PROGRESS)
    silent_ms = wire.now_ms() - last_ms
    wire.must(
        silent_ms >= session_ms * 0.9,
        f"a rebalance began when the member had been silent for {silent_ms} ms; its session lasts {session_ms} ms",
        answer,
    )

    joined = stays.join().must_succeed()
    joined.must(set(joined.members) == {stays.id}, "the silent member must be gone", "members")
    silent.heartbeat().must_be_refused(errors.UNKNOWN_MEMBER_ID)


@case(
    "groups/gone-in-the-join",
    guarantee="grp-013",
    apis=GROUPS,
    detects=[edit_answer("members[0].member_id", set="gone", api="JoinGroup", skip=5)],
)
def a_member_that_does_not_join_again_is_left_behind(wire, group):
    """A rebalance MUST end without the members that do not join again within the rebalance timeout."""
    session_ms = _session_ms(wire)
    limits = {"session_timeout_ms": session_ms, "rebalance_timeout_ms": session_ms}
    stays, gone, comes = (wire.member(group, name, **limits) for name in ("stays", "gone", "comes"))
    rebalance(stays, gone)

    comes.begin_join()
    stays.await_rebalance()
    stays.begin_join()
    for member in (stays, comes):
        member.finish_join().must_succeed()

    leader = stays if stays.leads else comes
    leader.joined.must(
        set(leader.joined.members) == {stays.id, comes.id}, "the one that did not join again must be gone", "members"
    )
    gone.heartbeat().must_be_refused(errors.UNKNOWN_MEMBER_ID)


@case("groups/slowest-member-is-waited-for", guarantees=["grp-013", "grp-006"], apis=GROUPS, detects=["E04"])
def a_rebalance_waits_for_the_slowest_member(wire, group):
    """A rebalance MUST wait as long as the longest rebalance timeout of its members, whatever shorter ones there are:
    a member that joins again within its own timeout, after those of the others, is in the next generation.
    """
    slow = wire.member(group, "slow", session_timeout_ms=LONG_MS, rebalance_timeout_ms=LONG_MS)
    quick, comes = (
        wire.member(group, name, session_timeout_ms=LONG_MS, rebalance_timeout_ms=QUICK_MS)
        for name in ("quick", "comes")
    )
    rebalance(slow, quick)
    comes.begin_join()
    quick.await_rebalance()
    quick.begin_join()
    began_ms = wire.now_ms()

    def called_for_long_enough():
        slow.heartbeat().must_be_refused(errors.REBALANCE_IN_PROGRESS)
        return wire.now_ms() > began_ms + 3 * QUICK_MS

    wire.until(called_for_long_enough, within=LONG_MS / 1000, what="three times the timeout of the others has passed")
    slow.begin_join()
    members = (slow, quick, comes)
    for member in members:
        member.finish_join().must_succeed()
    leader = next(member for member in members if member.leads)
    found = set(leader.joined.members)
    leader.joined.must(found == {member.id for member in members}, f"of the three there are {found}", "members")


@case("groups/gone-before-the-sync", guarantee="grp-013", apis=GROUPS, detects=["M26c"])
def a_member_that_does_not_sync_is_left_behind(wire, group):
    """A member that joins and never sends SyncGroup MUST be dropped, also a leader that goes on sending heartbeats, and
    the others MUST be called to a new generation.
    """
    limits = {"rebalance_timeout_ms": _session_ms(wire)}
    members = [wire.member(group, name, **limits) for name in ("one", "two")]
    mute = join_together(*members)
    stays = next(member for member in members if member is not mute)

    waits = stays.sync(wait=False)
    mute.await_rebalance(within=12)
    waits.must_be_refused(errors.REBALANCE_IN_PROGRESS)

    joined = stays.join().must_succeed()
    joined.must(set(joined.members) == {stays.id}, "the leader that never synced must be gone", "members")


@case(
    "groups/session-bounds",
    guarantee="grp-012",
    apis={"JoinGroup": 4},
    detects=[edit_answer("error_code", set=errors.MEMBER_ID_REQUIRED, api="JoinGroup")],
)
def a_session_timeout_out_of_bounds_is_refused(wire, group):
    """A session timeout below group.min.session.timeout.ms or above group.max.session.timeout.ms SHOULD be refused
    (26), and both bounds themselves SHOULD be accepted.
    """
    least, most = wire.setting(LEAST), wire.setting(MOST)
    if least is None or most is None:
        wire.not_applicable(f"the broker does not return {LEAST} and {MOST}")
    for session_ms in (int(least) - 1, int(most) + 1):
        wire.join_group(group, session_timeout_ms=session_ms).must_be_refused(errors.INVALID_SESSION_TIMEOUT)
    for session_ms in (int(least), int(most)):
        wire.join_group(group, session_timeout_ms=session_ms).must_be_refused(errors.MEMBER_ID_REQUIRED)


def _session_ms(wire):
    """The shortest session that is long enough to heartbeat in, where the cluster allows one."""
    wire.needs_setting(LEAST, at_most=SLOWEST_MS)
    return max(2_000, int(wire.setting(LEAST) or SLOWEST_MS))
