"""Members, commits and transactions that wait at a coordinator while its log goes to another node."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._waits_moved import DIES, ELECTED, STOPS, TAKEN, MovedCoordinators
from brokertrial.suites.cases.partition._replicas import NEEDS
from brokertrial.suites.cases.replication._handing_over import APIS as MOVES
from brokertrial.suites.probe.apart import apart

APIS = {
    "OffsetCommit": 2,
    "OffsetFetch": 1,
    "JoinGroup": 2,
    "SyncGroup": 1,
    "TxnOffsetCommit": 3,
    "InitProducerId": 0,
    "AddPartitionsToTxn": 0,
    "AddOffsetsToTxn": 0,
    "EndTxn": 0,
    "CreateTopics": 5,
    "CreatePartitions": 0,
}


@case(
    "groups/waits-whatever-happens-among-nodes",
    guarantees=[
        "grp-016",
        "grp-006",
        "grp-007",
        "cmt-002",
        "cmt-017",
        "txn-011",
        "txn-012",
        "txn-021",
        "g848-002",
        "g848-011",
    ],
    needs=[*NEEDS, "partitions", "kill", "terminate", "restart"],
    apis=APIS | MOVES,
    detects=["B160", "B19", "B162", "B173", "B174", "B175"],
)
def the_next_coordinator_has_what_was_acknowledged(wire, topic_of, rng, nodes):
    """What waits at a coordinator when its log goes to another node MUST be answered in time, once, in the order of its
    connection, and with success or so that clients look for the coordinator. What is acknowledged MUST be at the next
    coordinator; what is refused MUST be there whole or not at all, and be done when it is asked again: offsets,
    generations with their assignments, members of KIP-848 groups, and transactions. Generations and epochs MUST NOT
    fall, no partition MUST have two owners, and what another partition of the log holds MUST go on.

    A follower replicates nothing meanwhile; another node is elected, the replica is taken away, or the node dies or
    stops. Requests in drawn versions and conditions; in some the follower is left out before that.
    """
    one = MovedCoordinators(wire, nodes, rng, topic_of)
    first = rng.choice((ELECTED, TAKEN))
    one.begins(first, late=False)
    _goes_to_another(one, nodes)
    one.placed(*rng.sample(list(wire.nodes), 3))
    one.begins(rng.choice([each for each in (ELECTED, TAKEN, DIES, STOPS) if each != first]), late=rng.random() < 0.5)
    _goes_to_another(one, nodes)


def _goes_to_another(one, nodes):
    with apart(nodes, one.cut_node, "brokers"):
        one.asks()
        one.moves()
    one.comes_together()
    one.goes_on()
