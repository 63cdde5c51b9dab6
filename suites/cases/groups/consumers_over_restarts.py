"""KIP-848 groups whose members say whatever is drawn while their coordinators stop, are killed and move."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._consumers_kept import (
    AWAY,
    CALM,
    CHANGED,
    DEAD,
    EMPTY,
    UNSETTLED,
    KeptConsumers,
    brings,
    kept_steps_of,
)
from brokertrial.suites.cases.groups._consumers_steps import comes, commits, refused
from brokertrial.suites.cases.groups._group_settings import lengthen_sessions
from brokertrial.suites.cases.groups._over import over
from brokertrial.suites.cases.groups._turning import TurningGroup

APIS = {
    "ConsumerGroupHeartbeat": 1,
    "ConsumerGroupDescribe": 0,
    "JoinGroup": 5,
    "ListGroups": 5,
    "OffsetCommit": 9,
    "OffsetFetch": 9,
    "DeleteGroups": 0,
}
STEPS, BETWEEN = 5, 2
MET = (((UNSETTLED,), (AWAY,)), ((CALM,), (DEAD,)), ((UNSETTLED,), (CHANGED, EMPTY)))
"""What the groups are in, in a drawn order, when a coordinator goes down: one of each."""


@case(
    "groups/consumers-say-whatever-over-restarts",
    guarantees=[
        "grp-016",
        "g848-002",
        "g848-003",
        "g848-005",
        "g848-007",
        "g848-011",
        "g848-013",
        "g848-015",
        "cmt-002",
    ],
    apis=APIS,
    features={"group.version": 1},
    needs=["partitions", "kill", "terminate", "restart"],
    detects=["Y11", "Y12", "Y13", "Y14"],
)
def all_that_was_answered_was_written(wire, topic_of, rng, nodes):
    """A KIP-848 group whose coordinator was stopped, was killed or moved MUST be what it was, also in the middle of a
    change: its epochs and assignor, each member with its epoch, its subscription, its owned and its target partitions,
    and the static members that are away; what is not revoked MUST NOT be assigned to another. Members MUST go on in
    their epoch without joining again, a member that left or was replaced is refused, a deleted group stays deleted, and
    a topic that changed meanwhile is assigned. A group that changed its protocol, which it may when it is empty, MUST
    stay so.

    Two groups of up to four members, and one that changes its protocol; 15 drawn steps; stopped, killed and stopped
    again.
    """
    follow(wire, topic_of, rng, nodes)


def follow(wire, topic_of, rng, nodes):
    """Drawn steps, and three times a coordinator that goes down."""
    groups = [_group(wire, topic_of, rng, what) for what in ("a", "b")]
    turning = TurningGroup(wire, wire.name("turns"), topic_of(what="t"), rng)
    lengthen_sessions(wire, turning.name)
    for one in groups:
        comes(one)
    met = [[rng.choice(each) for each in both] for both in rng.sample(MET, 3)]
    for number, down in enumerate((nodes.terminate, nodes.kill, nodes.terminate)):
        for turn in range(STEPS):
            _goes_on(rng.choice(groups), number * 100 + turn)
        turning.turn()
        for one, condition in zip(groups, rng.sample(met[number], 2), strict=True):
            brings(one, condition)
        over(down, nodes, wire, [*rng.sample(groups, 2), turning], _meanwhile)


def _group(wire, topic_of, rng, what):
    one = KeptConsumers(
        wire, wire.name(what), {topic_of(partitions=2, what=f"{what}2"): 2, topic_of(what=what): 1}, rng
    )
    lengthen_sessions(wire, one.name)
    return one


def _goes_on(one, turn):
    one.rng.choice(kept_steps_of(one))(one)
    one.settle()
    refused(one)
    commits(one, turn)


def _meanwhile(one):
    if isinstance(one, TurningGroup):
        one.turn()
        return
    for turn in range(BETWEEN):
        _goes_on(one, 900 + turn)
    brings(one, one.rng.choice([CALM, AWAY, UNSETTLED]))
