"""Partitions of drawn replica orders while nodes go, freeze and come back: who leads, in which epoch, with what."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._elected_seen import SeenCluster


@case(
    "replication/elected-whatever-comes-next",
    guarantees=[
        *("repl-001", "repl-002", "repl-003", "repl-005", "repl-006", "repl-007", "repl-008", "repl-009", "repl-018"),
        *("adm-013", "kraft-005", "fetch-011", "prot-019"),
    ],
    level="must",
    needs=[
        *("three-nodes", "leaders", "partitions", "topic-settings", "settings", "started"),
        *("kill", "terminate", "pause", "restart"),
    ],
    apis={
        "CreateTopics": 5,
        "ElectLeaders": 1,
        "Metadata": 8,
        "ListOffsets": 4,
        "OffsetForLeaderEpoch": 3,
        "Fetch": 9,
        "Produce": 9,
        "InitProducerId": 0,
        "IncrementalAlterConfigs": 0,
    },
    detects=["M33a", "B164", "B165"],
)
def leaders_are_those_that_must_be(wire, nodes, rng):
    """Whatever happens to nodes, each partition MUST be led by the one that leads it, while that is in sync and alive,
    or by its first replica, and else by the first in the order of its replicas that is; by none where none is, unless
    an unclean election is allowed or asked for. Each change of the leader MUST be one epoch of its own, every node MUST
    show the same leader, epoch and in-sync replicas, and refuse who asks the wrong node or knows another epoch. What
    was committed MUST be there, in the epochs of who took it, but for what an unclean election gives up.

    Partitions of one to three replicas in all orders. One node is frozen, or is killed and back at once; then another
    goes or is killed, and a further one while that comes back. ElectLeaders of both kinds and records in between.
    """
    cluster = SeenCluster(wire, rng)
    wire.coordinator(wire.name("g"))
    back, first, second = rng.sample(cluster.everyone, 3)
    acts = [(rng.choice((_frozen, _at_once)), [back]), (_two_in_turn, [first, rng.choice((back, second))])]
    try:
        cluster.must_be_settled()
        for act, of in acts:
            cluster.sets()
            cluster.write()
            act(cluster, nodes, *of)
            _asked(cluster)
    finally:
        cluster.unset()


def _asked(cluster):
    """What is so is asked, elections are, and records are written."""
    cluster.must_be_settled()
    cluster.must_be_coordinated()
    for unclean in cluster.rng.sample((False, True), 2):
        cluster.look()
        if cluster.waits_for_an_election or cluster.rng.random() < 0.7:
            cluster.elect(unclean)
            cluster.must_be_settled()
            cluster.must_be_committed()
    cluster.write()
    cluster.look()
    cluster.must_hold_everything()


def _goes(cluster, nodes, node):
    """Whether it went in order."""
    in_order = cluster.rng.random() < 0.5
    (nodes.terminate if in_order else nodes.kill)(node)
    return in_order


def _two_in_turn(cluster, nodes, first, second):
    clean = _goes(cluster, nodes, first)
    cluster.loses(first)
    _asked(cluster)
    second_clean = _goes(cluster, nodes, second)
    cluster.begins_anew(first)
    nodes.start(first)
    cluster.loses_and_gets_back(second, first, clean)
    _asked(cluster)
    _started(cluster, nodes, second, second_clean)


def _started(cluster, nodes, node, clean):
    cluster.begins_anew(node)
    nodes.start(node)
    cluster.gets_back(node, clean)


def _at_once(cluster, nodes, node):
    nodes.kill(node)
    cluster.loses(node)
    _started(cluster, nodes, node, clean=False)


def _frozen(cluster, nodes, node):
    nodes.pause(node)
    cluster.loses(node)
    _asked(cluster)
    nodes.resume(node)
    cluster.gets_back(node, clean=True)
