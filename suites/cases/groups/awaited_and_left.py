"""The last member of a classic group goes while another has been given its id and has not joined (KIP-394)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import rebalance
from brokertrial.wire import errors

LEAST, SLOWEST_MS = "group.min.session.timeout.ms", 6_000
HOW = (("is silent", 1), ("leaves", 1), ("leaves", 2))
"""What the members do, and how many there are."""
WITHIN_S = 20


@case(
    "groups/empty-though-one-is-awaited",
    guarantees=["grp-013", "grp-021", "grp-005"],
    apis={"JoinGroup": 4, "SyncGroup": 0, "LeaveGroup": 0, "DescribeGroups": 0, "DeleteGroups": 0},
    detects=["B68"],
)
def a_group_is_empty_though_somebody_was_given_an_id(wire, rng):
    """When the last member of a group leaves or its session expires, the group MUST become Empty, also while clients
    have been given member ids and have not joined: it MUST be deleted when that is asked for, and MUST accept a member.

    Three groups; for each one or two clients are awaited. Then it is deleted, or another member joins.
    """
    wire.needs_setting(LEAST, at_most=SLOWEST_MS)
    session_ms = max(2_000, int(wire.setting(LEAST) or SLOWEST_MS))
    for how, count in HOW:
        group = wire.name("g")
        members = [wire.member(group, f"member {number}", session_timeout_ms=session_ms) for number in range(count)]
        rebalance(*members)
        for number in range(rng.randint(1, 2)):
            wire.join_group(group, via=f"awaited {number}").must_be_refused(errors.MEMBER_ID_REQUIRED)
        if how == "leaves":
            for member in members:
                member.leave().must_succeed()
        with wire.part(f"the last of {count} {how}"):
            wire.eventually(lambda of=group: _must_be_empty(wire, of), within=WITHIN_S)
            if rng.random() < 0.5:
                rebalance(wire.member(group, "comes later"))
            else:
                wire.delete_groups(group).must_succeed()


def _must_be_empty(wire, group):
    wire.describe_group(group).must_have("groups[0].group_state", "Empty")
