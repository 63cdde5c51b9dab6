"""Sessions and rebalance timeouts of members that the coordinator knows from its log alone."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._living import EARLY, LATE_S, LONG_MS, session_of
from brokertrial.suites.probe import rebalance
from brokertrial.wire import errors

APIS = {"JoinGroup": 1, "SyncGroup": 0, "Heartbeat": 0, "DescribeGroups": 0}
QUICK_MS = 1_000


@case(
    "groups/timeouts-over-restarts",
    guarantees=["grp-016", "grp-011", "grp-013"],
    needs=["kill", "restart"],
    apis=APIS,
    detects=["D14"],
)
def each_member_keeps_its_own_timeouts(wire, group, nodes):
    """After its coordinator crashed each member MUST have the session timeout that it joined with: a silent one is
    expelled when its own is over, and not before, while another with a longer one stays. A rebalance MUST wait for each
    member as long as that member's rebalance timeout, though its session is shorter.
    """
    session_ms = session_of(wire)
    stays = wire.member(group, "stays", session_timeout_ms=LONG_MS, rebalance_timeout_ms=LONG_MS)
    goes = wire.member(group, "goes", session_timeout_ms=session_ms, rebalance_timeout_ms=LONG_MS)
    rebalance(stays, goes)
    since_ms = wire.now_ms()
    nodes.crash(nodes.of_group(group))
    wire.until(
        lambda: goes.id not in _members(wire, group),
        within=session_ms / 1000 + LATE_S + 10,
        what=f"the member is expelled that was silent for {session_ms} ms",
    )
    silent_ms = wire.now_ms() - since_ms
    wire.must(silent_ms >= session_ms * EARLY, f"a member is expelled after {silent_ms} ms of {session_ms}")
    stays.heartbeat().must_be_refused(errors.REBALANCE_IN_PROGRESS)
    if len(wire.nodes) > 1:
        return  # another takes over, and who must heartbeat cannot until the first is back

    other = wire.name("g")
    slow = wire.member(other, "slow", session_timeout_ms=session_ms, rebalance_timeout_ms=LONG_MS)
    comes = wire.member(other, "comes", session_timeout_ms=LONG_MS, rebalance_timeout_ms=QUICK_MS)
    rebalance(slow)
    nodes.crash(nodes.of_group(other))
    slow.heartbeat().must_succeed()
    comes.begin_join()
    slow.await_rebalance().must_be_refused(errors.REBALANCE_IN_PROGRESS)
    began_ms = wire.now_ms()

    def called_for_long_enough():
        slow.heartbeat().must_be_refused(errors.REBALANCE_IN_PROGRESS)
        return wire.now_ms() > began_ms + 2 * session_ms

    wire.until(called_for_long_enough, within=4 * session_ms / 1000, what="twice its session has passed")
    slow.begin_join()
    for member in (slow, comes):
        member.finish_join().must_succeed()
    leader = slow if slow.leads else comes
    found = set(leader.joined.members)
    leader.joined.must(found == {slow.id, comes.id}, f"{len(found)} of the two are in the generation", "members")


def _members(wire, group):
    return [row.member_id for row in wire.describe_group(group).must_succeed().struct.groups[0].members]
