"""Partitions that are moved, elected and added in a drawn order, while nodes are away and records are under way."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._placed_further import PlacedPartitions
from brokertrial.suites.probe.apart import apart

WHOLE = ("move", "order", "more_and_fewer", "twice", "call_off_at_once", "elect", "elect_all", "grow", "refuse")
FIRST = ("begin", "repeat", "call_off", "rescue", "fewer", "call_off", "begin", "again")
AWAY = (
    "move",
    "leave",
    "begin",
    "order",
    "more_and_fewer",
    "elect",
    "elect",
    "elect_all",
    "call_off",
    "fewer",
    "refuse",
)
LESS = ("move", "begin", "fewer", "grow", "elect_all", "call_off", "again")


@case(
    "replication/placed-whatever-comes-next",
    guarantees=[
        *("repl-001", "repl-002", "repl-005", "repl-007", "repl-009", "repl-012", "repl-017", "idem-008"),
        *("adm-007", "adm-013", "adm-014", "adm-019"),
    ],
    level="must",
    needs=[
        *("three-nodes", "leaders", "network", "partitions", "topic-settings"),
        *("kill", "terminate", "pause", "restart"),
    ],
    apis={
        "CreateTopics": 5,
        "CreatePartitions": 0,
        "Metadata": 7,
        "AlterPartitionReassignments": 0,
        "ListPartitionReassignments": 0,
        "ElectLeaders": 1,
        "InitProducerId": 0,
        "Fetch": 11,
    },
    detects=["B126"],
)
def partitions_are_where_they_were_placed(wire, nodes, rng):
    """Wherever partitions are moved to, by requests for several, again, in part and called off in any stage, whoever is
    elected and whatever is added meanwhile, each MUST be held by the nodes that were asked for, in this order, be led
    by one that is in sync, in a higher epoch with each other leader, and be listed as long as it is on the move. Each
    record that is acknowledged MUST be at every replica, once; only where an administrator has a partition led by a
    node that never had its records they are lost, all of them.

    Five partitions and more in drawn steps, with records under way: with all nodes alive, with one that is killed or
    stopped, and with one that is frozen or cut off from the others.
    """
    placed = PlacedPartitions(wire, rng)
    placed.play((), WHOLE)
    dead = rng.choice(wire.nodes[1:])  # the first one is asked what no other is named for
    placed.step_lone(dead)
    placed.play(("spread",))
    rng.choice((nodes.kill, nodes.terminate))(dead)
    placed.loses(dead)
    placed.play(FIRST, AWAY)
    nodes.crash_controllers()
    placed.play(("order",))
    nodes.start(dead)
    placed.gets_back()
    placed.play(("settle", "order", "move", "spread"))
    rng.choice((_frozen, _cut_off))(placed, nodes, rng.choice(wire.nodes[1:]))
    placed.gets_back()
    placed.play(("settle", "move", "elect_all"))
    placed.must_be_held_by_all()


def _frozen(placed, nodes, node):
    nodes.pause(node)
    _while_away(placed, node)
    nodes.resume(node)


def _cut_off(placed, nodes, node):
    with apart(nodes, node):
        _while_away(placed, node)


def _while_away(placed, node):
    placed.loses(node)
    placed.play(("fewer", "call_off"), LESS)
    placed.play(("order",))
