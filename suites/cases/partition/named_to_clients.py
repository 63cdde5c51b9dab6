"""Where clients are sent by nodes that have another listener for each other (KIP-103, KIP-951)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._addresses import addresses, must_be_named_everywhere
from brokertrial.suites.cases.replication.leaders_named import HINTS_SINCE, LedByMany


@case(
    "partition/clients-are-sent-to-their-listeners",
    guarantees=["repl-018", "prot-019", "adm-012"],
    needs=["three-nodes", "leaders", "network", "topic-settings"],
    apis={"Produce": 10, "Fetch": 16, "AlterPartitionReassignments": 0, "DescribeCluster": 0},
    detects=["B85"],
)
def every_address_is_one_for_clients(wire, rng):
    """Where brokers reach each other at other addresses than clients do, each address that a client is given MUST be
    one for clients, the one that Metadata names for that node: of leaders beside NOT_LEADER_OR_FOLLOWER and
    FENCED_LEADER_EPOCH, of coordinators, and of brokers in DescribeCluster, whichever node and version is asked.

    In a network each node has one listener for clients and one for the other brokers.
    """
    placed = LedByMany(wire, rng)
    for turn in range(2):
        for api, since in HINTS_SINCE.items():
            for version in (each for each in wire.versions(api) if each >= since):
                placed.ask(api, version, rng.choice(wire.nodes))
        if not turn:
            placed.move()
    placed.must_hold_what_was_taken()
    must_be_named_everywhere(wire, addresses(wire, wire.nodes[0]))
