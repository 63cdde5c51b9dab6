"""A classic group that is asked whatever is drawn, in whatever state it is: every answer is followed."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._classic import APIS, Group
from brokertrial.suites.cases.groups._classic_steps import commits, refused, settles, steps_of, waits_and_returns

STEPS = 200


@case(
    "groups/asked-whatever-in-any-state",
    guarantees=["grp-006", "grp-007", "grp-008", "grp-009", "grp-010", "grp-014", "grp-015", "grp-020", "grp-027"],
    apis=APIS,
    detects=["G01", "G02", "G03", "V17", "V92", "V95"],
)
def every_answer_is_as_the_group_is(wire, topic, group, rng):
    """Whatever its members send in whatever state and version, each request to a group MUST be answered according to
    its state: a JoinGroup when all have joined, with the protocol that most vote for of those that all support, and
    with the members' metadata to the leader alone; a SyncGroup when the leader has sent the assignments, with nothing
    for a member that it left out; every other request at once. A replaced member (82), an unknown one (25) or one of
    another generation (22) is refused. A leader that joins again leads the next generation too.

    Up to five members with up to four protocols each, 200 drawn steps.
    """
    one = Group(wire, group, rng)
    wire.commit(group, topic, offset=7).must_succeed()
    offset = 7
    for turn in range(STEPS):
        step = waits_and_returns if turn % 80 == 40 else rng.choice(steps_of(one))
        step(one, turn)
        one.must_be_described()
        if rng.random() < 0.5:
            refused(one, topic)
        if rng.random() < 0.5:
            offset = commits(one, topic, offset, turn)
        wire.committed(group, topic).must_be(offset)
    settles(one, STEPS)
