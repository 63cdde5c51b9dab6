"""Where clients are sent by nodes that have another listener for each other (KIP-103, KIP-951)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication.leaders_named import HINTS_SINCE, LedByMany
from brokertrial.wire.messages import request

GROUPS, TRANSACTIONS = 0, 1
SEVERAL_SINCE, TYPED_SINCE, NAMES = 4, 1, 4


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
    at = {row.node_id: (row.host, row.port) for row in wire.metadata(to=wire.nodes[0]).struct.brokers}
    for node in wire.nodes:
        for version in wire.versions("Metadata"):
            answer = wire.metadata(to=node, version=version).must_succeed()
            _must_be_at(answer, {row.node_id: row for row in answer.struct.brokers}, at, "brokers")
        for version in wire.versions("DescribeCluster"):
            answer = wire.ask(request("DescribeCluster"), to=node, version=version).must_succeed()
            _must_be_at(answer, {row.broker_id: row for row in answer.struct.brokers}, at, "brokers")
        for version in wire.versions("FindCoordinator"):
            for kind in (GROUPS, TRANSACTIONS) if version >= TYPED_SINCE else (GROUPS,):
                wire.eventually(lambda how=(node, version, kind): _must_be_found(wire, at, *how), within=20)


def _must_be_found(wire, at, node, version, kind):
    names = [wire.name("key") for _ in range(NAMES if version >= SEVERAL_SINCE else 1)]
    asked = request("FindCoordinator", key=names[0], key_type=kind, coordinator_keys=names)
    answer = wire.ask(asked, to=node, version=version).must_succeed()
    rows = answer.struct.coordinators if version >= SEVERAL_SINCE else [answer.struct]
    _must_be_at(
        answer, {row.node_id: row for row in rows}, at, "coordinators" if version >= SEVERAL_SINCE else "node_id"
    )


def _must_be_at(answer, rows, at, path):
    found = {node: (row.host, row.port) for node, row in rows.items()}
    right = {one: at.get(one) for one in found}
    answer.must(found == right, f"it sends clients to {found}; Metadata names {right}", path)
