"""A classic group that is asked whatever is drawn while its coordinators stop, are killed and move."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._classic import APIS as CLASSIC_APIS
from brokertrial.suites.cases.groups._classic import STABLE
from brokertrial.suites.cases.groups._classic_kept import (
    DEAD,
    NONE_LEFT,
    UNFINISHED,
    KeptGroup,
    begins,
    brings,
    does,
    kept_steps_of,
)
from brokertrial.suites.cases.groups._classic_steps import commits, refused, settles
from brokertrial.suites.cases.groups._over import over

APIS = CLASSIC_APIS | {"OffsetDelete": 0, "DeleteGroups": 0}
STEPS, BETWEEN = 30, 5
MET = ((STABLE, STABLE, UNFINISHED), (STABLE, NONE_LEFT, UNFINISHED), (STABLE, NONE_LEFT, DEAD))
"""What the groups are in, in a drawn order, each time that a coordinator goes down."""


@case(
    "groups/asked-whatever-over-restarts",
    guarantees=["grp-016", "grp-006", "grp-008", "grp-009", "grp-014", "grp-015", "grp-020", "cmt-002"],
    apis=APIS,
    needs=["partitions", "kill", "terminate", "restart"],
    detects=["Y01", "Y02", "Y03", "Y04"],
)
def every_group_is_as_it_was_written(wire, topic_of, rng, nodes):
    """A group whose coordinator was stopped, was killed or moved MUST be as it was when it was last written: its
    generation, protocol and leader, each member with its metadata, its assignment, its client and its instance; an
    empty one keeps its generation, a deleted one stays deleted, and each has its offsets. Members MUST go on as they
    are without joining again; a member that left, was replaced or was not written yet is refused; and later requests
    MUST be answered according to that state.

    Three groups of up to five members, 90 drawn steps; their coordinators are stopped, killed and stopped again. A
    rebalance that is not finished is lost with its coordinator: the group is as it was before it.
    """
    follow(wire, topic_of, rng, nodes)


def follow(wire, topic_of, rng, nodes):
    """Drawn steps, and three times a coordinator that goes down."""
    topic = topic_of(partitions=2)
    groups = [KeptGroup(wire, number, topic, rng) for number in range(3)]
    for one in groups:
        does(one, begins, 7)
    for number, down in enumerate((nodes.terminate, nodes.kill, nodes.terminate)):
        for turn in range(STEPS):
            _goes_on(rng.choice(groups), number * 100 + turn)
        for one, wanted in zip(groups, rng.sample(MET[number], 3), strict=True):
            brings(one, wanted, number * 100 + STEPS)
        over(down, nodes, wire, rng.sample(groups, 3), _meanwhile)
        wire.await_topic(topic)
    for one in groups:
        _meanwhile(one)
        settles(one, 999)


def _meanwhile(one):
    for turn in range(BETWEEN):
        _goes_on(one, 900 + turn)


def _goes_on(one, turn):
    does(one, one.rng.choice(kept_steps_of(one)), turn)
    if one.state != DEAD:
        if one.rng.random() < 0.5:
            refused(one, one.topic)
        if one.rng.random() < 0.5:
            one.offset = commits(one, one.topic, one.offset, turn)
    one.must_have_its_offsets()
