"""KIP-848 groups whose members send drawn heartbeats while their coordinators hand them over; no node stops."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._consumers_kept import (
    AWAY,
    CALM,
    CHANGED,
    DEAD,
    EMPTY,
    UNSETTLED,
    brings,
)
from brokertrial.suites.cases.groups._consumers_steps import comes
from brokertrial.suites.cases.groups._group_settings import lengthen_sessions
from brokertrial.suites.cases.groups._handed_over import handed_over
from brokertrial.suites.cases.groups._turning import TurningGroup
from brokertrial.suites.cases.groups.consumers_over_restarts import _goes_on, _group, _meanwhile
from brokertrial.suites.cases.replication._handing_over import APIS as MOVES

STEPS = 4
MET = (((UNSETTLED, CALM), (AWAY, DEAD)), ((UNSETTLED, CALM), (CHANGED, EMPTY)))


@case(
    "groups/consumers-say-whatever-while-handed-over",
    guarantees=["grp-016", "g848-002", "g848-003", "g848-005", "g848-007", "g848-011", "g848-015", "cmt-002"],
    apis={
        "ConsumerGroupHeartbeat": 1,
        "ConsumerGroupDescribe": 0,
        "JoinGroup": 5,
        "ListGroups": 5,
        "OffsetCommit": 9,
        "OffsetFetch": 9,
        "DeleteGroups": 0,
        **MOVES,
    },
    features={"group.version": 1},
    needs=["started", "three-nodes", "leaders", "partitions", "kill", "restart"],
    detects=["X11"],
)
def all_that_was_answered_goes_along(wire, topic_of, rng, nodes):
    """A KIP-848 group whose coordinator hands it to another node, and gets it back, MUST be what it was, also in the
    middle of a change and whatever happened to it at the other node; members MUST go on in their epoch. The former
    coordinator MUST NOT describe or list the group.

    All nodes stay up. Two groups of up to four members, and one that changes its protocol.
    """
    groups = [_group(wire, topic_of, rng, what) for what in ("a", "b")]
    turning = TurningGroup(wire, wire.name("turns"), topic_of(what="t"), rng)
    lengthen_sessions(wire, turning.name)
    for one in groups:
        comes(one)
    for number, both in enumerate(rng.sample(MET, 2)):
        for turn in range(STEPS):
            _goes_on(rng.choice(groups), number * 100 + turn)
        turning.turn()
        for one, condition in zip(groups, rng.sample([rng.choice(each) for each in both], 2), strict=True):
            brings(one, condition)
        handed_over(nodes, wire, [*rng.sample(groups, 2), turning], rng, _meanwhile)
