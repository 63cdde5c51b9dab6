"""A broker that comes back at another address than the one that it was known by (KIP-631)."""

from functools import partial

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._addresses import addresses, must_be_named_everywhere
from brokertrial.suites.cases.replication._roles import WITHIN_S
from brokertrial.suites.cases.replication.leaders_named import HINTS_SINCE, LedByMany
from brokertrial.suites.probe.admin import BROKER
from brokertrial.suites.probe.preferred_leaders import await_leaders
from brokertrial.wire.messages import request

LISTENERS = "advertised.listeners"
BEFORE, AFTER = "://127.0.0.1:", "://localhost:"


@case(
    "replication/back-at-another-address",
    guarantees=["repl-018", "prot-019", "adm-012", "prot-015"],
    needs=["three-nodes", "leaders", "chosen-settings", "terminate", "restart", "topic-settings"],
    apis={"Produce": 10, "Fetch": 16, "AlterPartitionReassignments": 0, "DescribeCluster": 0, "DescribeConfigs": 1},
    detects=["B330", "B331", "B332"],
)
def who_has_moved_is_named_where_it_is(wire, nodes, rng):
    """A broker that is started with another advertised address MUST be named with that one by every node, though each
    had named the former: in Metadata and DescribeCluster, of coordinators, and of leaders beside NOT_LEADER_OR_FOLLOWER
    and FENCED_LEADER_EPOCH. It MUST be served there as before.

    Each node comes back elsewhere in turn.
    """
    placed = LedByMany(wire, rng)
    for node in rng.sample(wire.nodes, len(wire.nodes)):
        known = addresses(wire, node)
        _all_name_them(wire, placed, known, rng)
        nodes.start_with({LISTENERS: _elsewhere(wire, node)}, only=[node])
        wire.eventually(partial(_must_be_elsewhere, wire, node, known), within=WITHIN_S)
        await_leaders(wire, of_all=True)
        for topic in sorted({topic for topic, _ in placed.taken}):
            wire.await_topic(topic)
            wire.until(
                partial(_all_show_the_same, wire, topic), within=WITHIN_S, what=f"all nodes know who leads {topic}"
            )
    _all_name_them(wire, placed, addresses(wire, wire.nodes[0]), rng)
    placed.must_hold_what_was_taken()


def _elsewhere(wire, node):
    row = {"resource_type": BROKER, "resource_name": str(node), "configuration_keys": [LISTENERS]}
    answer = wire.ask(request("DescribeConfigs", resources=[row]), to=node).must_succeed()
    said = next((each.value for each in answer.struct.results[0].configs if each.value), "")
    if BEFORE not in said:
        wire.not_applicable(f"node {node} advertises {said!r}, which has no other name here", "refused-by-settings")
    return said.replace(BEFORE, AFTER, 1)


def _must_be_elsewhere(wire, node, known):
    for asked in wire.nodes:
        answer = wire.metadata(to=asked)
        found = {row.node_id: (row.host, row.port) for row in answer.struct.brokers}
        moved = [one for one in known if found.get(one) != known[one]]
        answer.must(moved == [node], f"nodes {moved} are elsewhere than before; only node {node} must be", "brokers")


def _all_show_the_same(wire, topic):
    shown = []
    for node in wire.nodes:
        rows = wire.metadata(topic, to=node).struct.topics[0].partitions
        shown.append(sorted((row.partition_index, row.leader_id, row.leader_epoch) for row in rows))
    return all(each == shown[0] and all(leader >= 0 for _, leader, _ in each) for each in shown)


def _all_name_them(wire, placed, at, rng):
    must_be_named_everywhere(wire, at)
    for api, since in HINTS_SINCE.items():
        for node in wire.nodes:
            placed.ask(api, rng.choice([each for each in wire.versions(api) if each >= since]), node)
