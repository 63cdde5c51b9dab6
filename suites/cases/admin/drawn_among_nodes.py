"""Topics and settings that change at drawn nodes while others go, come back and are cut off: what each node shows."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.admin._asked_of_nodes import AskedCluster
from brokertrial.suites.cases.admin._changed_at_nodes import WITHIN_S
from brokertrial.suites.probe.apart import apart
from brokertrial.suites.probe.failures import breaks

TURNS, AWAY_TURNS = 9, 7
FIRST = ("make", "change", "grow")
"""What is done at least while a node is away, in a drawn order; and a topic that is made again under its name."""


@case(
    "admin/whatever-comes-next-among-nodes",
    guarantees=[
        *("adm-001", "adm-002", "adm-004", "adm-006", "adm-007", "adm-008", "adm-009", "adm-010", "adm-012", "adm-016"),
        *("prot-015", "prot-018", "kraft-005", "kraft-006"),
    ],
    level="must",
    needs=[
        *("three-nodes", "leaders", "network", "settings", "started", "topic-settings", "partitions"),
        *("kill", "terminate", "pause", "restart"),
    ],
    apis={
        "CreateTopics": 7,
        "DeleteTopics": 6,
        "CreatePartitions": 0,
        "AlterConfigs": 0,
        "IncrementalAlterConfigs": 0,
        "DescribeConfigs": 1,
        "DescribeCluster": 0,
        "Metadata": 10,
    },
    detects=["B123", "B124"],
)
def each_node_shows_what_was_done_at_any(wire, nodes, rng):
    """Whatever is created, deleted, created again, grown and set through any node, each node MUST come to show it, and
    the same in every way of asking; what was refused or only validated changes nothing. A node MUST NOT go back to what
    was before what it has shown, nor show what never was, and one that starts MUST show what was acknowledged before.
    What is set MUST be in force at the leaders, and the records of a topic are those of its present life.

    Rows that are taken and rows that are refused in the same requests, each of a drawn node; meanwhile one node is
    killed or stopped, and one is frozen or cut off from all others, for some requests each, in a drawn order.
    """
    cluster = AskedCluster(wire, rng)
    try:
        cluster.must_be_known_to_all()
        cluster.step("in_turn")
        cluster.must_be_known_to_all()
        _steps(cluster, TURNS)
        # The first node is asked what no other is named for: it does not end.
        ways = [(rng.choice((_killed, _stopped)), wire.nodes[1:]), (rng.choice((_frozen, _cut_off)), wire.nodes)]
        for way, of in rng.sample(ways, 2):
            cluster.write()
            way(cluster, nodes, rng.choice(of))
            cluster.must_be_known_to_all()
            nodes.crash_controllers()
            _steps(cluster, 2)
        cluster.must_be_known_to_all()
        cluster.write()
        cluster.must_hold_everything()
    finally:
        cluster.unset()


def _steps(cluster, turns, first=()):
    steps = [*first, *[None] * (turns - len(first))]
    for kind in cluster.rng.sample(steps, len(steps)):
        cluster.step(kind)
        for _ in range(cluster.rng.randint(1, 3)):
            cluster.look()


@breaks("kraft-005")
def _while_away(cluster, node):
    """The others decide."""
    cluster.away = node
    for one in cluster.alive:
        cluster.wire.until(
            lambda one=one: node not in [row.node_id for row in cluster.wire.metadata(to=one).struct.brokers],
            within=WITHIN_S,
            what=f"node {node} is among the brokers of node {one} no more",
        )
    _steps(cluster, AWAY_TURNS, ("delete", *FIRST))
    cluster.step("in_turn")
    cluster.must_be_known_to_all()


def _killed(cluster, nodes, node):
    nodes.kill(node)
    _started(cluster, nodes, node)


def _stopped(cluster, nodes, node):
    nodes.terminate(node)
    _started(cluster, nodes, node)


def _started(cluster, nodes, node):
    try:
        _while_away(cluster, node)
        cluster.write()
        cluster.begins_anew(node)
    finally:
        nodes.start(node)
    _back(cluster, node)


def _frozen(cluster, nodes, node):
    nodes.pause(node)
    try:
        _while_away(cluster, node)
    finally:
        nodes.resume(node)
    _back(cluster, node)


def _cut_off(cluster, nodes, node):
    """It is asked all the time, and shows what it knows."""
    with apart(nodes, node):
        cluster.cut = node
        _while_away(cluster, node)
    _back(cluster, node)


@breaks("kraft-005")
def _back(cluster, node):
    """Its first answers are of what was so, too."""
    cluster.cut = cluster.away = None
    cluster.wire.until(
        lambda: node in [row.node_id for row in cluster.wire.refresh_metadata().brokers],
        within=WITHIN_S,
        what=f"node {node} is among the brokers again",
    )
    cluster.look_at_all(node)
