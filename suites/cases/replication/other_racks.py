"""Brokers that come back in another rack than they were in, or in none (KIP-36, KIP-392)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed
from brokertrial.suites.cases.replication.racks_of_several import ReaderOfSharedRack
from brokertrial.suites.cases.replication.sent_to_their_rack import BY_RACK, FOLLOWED_SINCE, RACK, SELECTOR
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.same_draws import same_draws

ALONE = {"min.insync.replicas": "1"}


@case(
    "replication/racks-are-those-of-now",
    guarantees=["prot-015", "fetch-012"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "chosen-settings", "terminate", "restart"],
    apis={"Fetch": FOLLOWED_SINCE, "DescribeCluster": 0},
    detects=["B187", "B188"],
)
def who_comes_back_elsewhere_is_there(wire, nodes, rng):
    """A broker that is started again with another broker.rack, or without one, MUST be in this rack, and no more in the
    one that it was in: every node's Metadata and DescribeCluster say so, consumers of the new rack are directed to it,
    and those of a former one are served by the leader.

    It is moved four times: to a rack, to the next, out of all racks and into that of the leader.
    """
    leader, moved, other = rng.sample(list(wire.nodes), 3)
    racks = _shown(wire.metadata(to=leader), "node_id")
    unset = racks[moved]
    for node in (leader, other):
        nodes.start_with({RACK: f"rack {node}", SELECTOR: BY_RACK}, only=[node])
        racks[node] = f"rack {node}"
    topic = placed(wire, "read", [leader, moved, other], **ALONE)
    all_in_sync(wire, topic)
    wire.produce(topic, batch("a")).must_be_at(0)
    reader = ReaderOfSharedRack(wire, topic, leader, rng)
    former: list[str] = []
    for rack in ("rack one", "rack two", None, f"rack {leader}"):
        nodes.start_with({} if rack is None else {RACK: rack}, only=[moved])
        all_in_sync(wire, topic)
        racks[moved] = unset if rack is None else rack
        with wire.part(f"in {rack}"):
            for node in wire.nodes:
                wire.eventually(lambda at=node: _must_be_shown(wire, at, racks), within=WITHIN_S)
            if rack in ("rack one", "rack two"):
                sent = same_draws(rng, reader.must_be_sent_to_one_of, rack, (moved,))
                wire.eventually(sent, within=WITHIN_S)
            for each in (*former, f"rack {leader}", "rack of none"):
                wire.eventually(same_draws(rng, reader.must_be_served, each), within=WITHIN_S)
            reader.must_be_sent(other, 0)
        former += [] if rack is None else [rack]


def _must_be_shown(wire, node, racks):
    for answer, key in ((wire.metadata(to=node), "node_id"), (wire.describe_cluster(to=node), "broker_id")):
        found = _shown(answer, key)
        answer.must(found == racks, f"node {node} shows brokers in the racks {found}; they are {racks}", "brokers")


def _shown(answer, key):
    return {getattr(row, key): row.rack or None for row in answer.must_succeed().struct.brokers}
