"""Where each node says that the others are, in whatever it is asked."""

from brokertrial.wire.messages import request

GROUPS, TRANSACTIONS = 0, 1
SEVERAL_SINCE, TYPED_SINCE, NAMES = 4, 1, 4
WITHIN_S = 20


def addresses(wire, node):
    """Where the brokers are, as Metadata of one node names them."""
    return {row.node_id: (row.host, row.port) for row in wire.metadata(to=node).struct.brokers}


def must_be_named_everywhere(wire, at):
    """Every node names these addresses, in every version of Metadata, DescribeCluster and FindCoordinator."""
    for node in wire.nodes:
        for version in wire.versions("Metadata"):
            answer = wire.metadata(to=node, version=version).must_succeed()
            _must_be_at(answer, {row.node_id: row for row in answer.struct.brokers}, at, "brokers")
        for version in wire.versions("DescribeCluster"):
            answer = wire.ask(request("DescribeCluster"), to=node, version=version).must_succeed()
            _must_be_at(answer, {row.broker_id: row for row in answer.struct.brokers}, at, "brokers")
        for version in wire.versions("FindCoordinator"):
            for kind in (GROUPS, TRANSACTIONS) if version >= TYPED_SINCE else (GROUPS,):
                wire.eventually(lambda how=(node, version, kind): _must_be_found(wire, at, *how), within=WITHIN_S)


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
