"""Groups that receive drawn requests while their coordinators hand them over; no node stops."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._classic import STABLE
from brokertrial.suites.cases.groups._classic_kept import DEAD, NONE_LEFT, UNFINISHED, KeptGroup, begins, brings, does
from brokertrial.suites.cases.groups._classic_steps import settles
from brokertrial.suites.cases.groups._handed_over import handed_over
from brokertrial.suites.cases.groups.asked_over_restarts import APIS, _goes_on, _meanwhile
from brokertrial.suites.cases.replication._handing_over import APIS as MOVES

STEPS = 12
MET = ((UNFINISHED, STABLE, NONE_LEFT), (UNFINISHED, STABLE, DEAD))
"""What the groups are in when a coordinator hands them over, which is that of the first."""


@case(
    "groups/asked-whatever-while-handed-over",
    guarantees=["grp-016", "grp-006", "grp-008", "grp-009", "grp-014", "grp-015", "grp-020", "cmt-002"],
    apis=APIS | MOVES,
    needs=["started", "three-nodes", "leaders", "partitions", "kill", "restart"],
    detects=["X11", "X13"],
)
def every_group_goes_from_node_to_node(wire, topic_of, rng, nodes):
    """A group whose coordinator hands it to another node, and gets it back, MUST be at each of them as it was last
    written, whatever happened to it at the other. Waiting requests MUST be answered so that the client looks for the
    coordinator, and the former coordinator MUST NOT describe or list the group.

    All nodes stay up: the partitions of the offsets topic get other leaders. What a node knew of a group before must
    not show when it has it again. Three groups of up to five members.
    """
    topic = topic_of(partitions=2)
    groups = [KeptGroup(wire, number, topic, rng) for number in range(3)]
    for one in groups:
        does(one, begins, 7)
    for number, met in enumerate(rng.sample(MET, 2)):
        for turn in range(STEPS):
            _goes_on(rng.choice(groups), number * 100 + turn)
        drawn = rng.sample(groups, 3)
        for one, wanted in zip(drawn, met, strict=True):
            brings(one, wanted, number * 100 + STEPS)
        handed_over(nodes, wire, drawn, rng, _meanwhile)
    for one in groups:
        settles(one, 999)
