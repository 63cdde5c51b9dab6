"""What a group's coordinator owes to members that it knows from its log alone."""

from brokertrial.suites.case import case

GROUPS = {"JoinGroup": 1, "SyncGroup": 0, "Heartbeat": 0, "DescribeGroups": 0}
LEAST, SLOWEST_MS = "group.min.session.timeout.ms", 6_000


@case(
    "groups/silent-after-a-crash",
    guarantees=["grp-017", "grp-016"],
    needs=["kill", "restart"],
    apis=GROUPS,
    detects=["M25"],
)
def a_member_that_does_not_come_back_is_expelled_after_a_crash(wire, group, nodes):
    """After its coordinator crashed, a group MUST expel a member that is silent for its session timeout: the partitions
    of members that are gone must not stay with them.

    No other member joins: the coordinator's own timer has to expel it.
    """
    session_ms = _session_ms(wire)
    member = wire.member(group, session_timeout_ms=session_ms)
    member.join().must_succeed()
    member.sync({member.id: b"all of it"}).must_succeed()
    nodes.crash(nodes.of_group(group))

    wire.until(
        lambda: _state(wire, group) in ("Empty", "Dead"),
        within=session_ms / 1000 + 20,
        what=f"the group is without the member that was silent for {session_ms} ms",
    )


def _state(wire, group):
    return wire.describe_group(group).must_succeed().struct.groups[0].group_state


def _session_ms(wire):
    """The shortest session that is long enough, where the cluster allows one."""
    wire.needs_setting(LEAST, at_most=SLOWEST_MS)
    return max(2_000, int(wire.setting(LEAST) or SLOWEST_MS))
