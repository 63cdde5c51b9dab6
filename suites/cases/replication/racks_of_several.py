"""Racks that several brokers are in, and the replica that a consumer is sent to (KIP-392)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed
from brokertrial.suites.cases.replication.sent_to_their_rack import BY_RACK, FOLLOWED_SINCE, RACK, SELECTOR, RackReader
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.same_draws import same_draws

ALONE = {"min.insync.replicas": "1"}
ROUNDS = 3


@case(
    "replication/readers-stay-in-the-rack-of-the-leader",
    guarantees=["fetch-012"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "chosen-settings", "terminate", "restart"],
    apis={"Fetch": FOLLOWED_SINCE},
    detects=["B101"],
)
def who_shares_a_rack_with_the_leader_stays(wire, nodes, rng):
    """Where several brokers are in one rack, a leader MUST itself return the records to a consumer of its rack, though
    a follower is there too; it MUST direct one of another rack to a follower of that rack, to any of them where there
    are several, and serve one whose rack no replica is in.

    Each node leads a topic in turn. Two nodes are in one rack, the third in another.
    """
    near, beside, far = rng.sample(list(wire.nodes), 3)
    racks = {near: f"rack {near}", beside: f"rack {near}", far: f"rack {far}"}
    for node in wire.nodes:
        nodes.start_with({RACK: racks[node], SELECTOR: BY_RACK}, only=[node])
    for leader, follower in ((near, beside), (beside, near)):
        reader = _reader(wire, rng, leader, [follower, far])
        wire.eventually(same_draws(rng, reader.must_be_sent, far, 0), within=WITHIN_S)
        for _ in range(ROUNDS):
            reader.must_be_served(racks[leader])
            reader.must_be_served(rng.choice(("rack of none", "")))
            reader.must_be_sent(far, rng.choice((0, 1)))
    reader = _reader(wire, rng, far, [near, beside])
    sent = same_draws(rng, reader.must_be_sent_to_one_of, racks[near], (near, beside))
    wire.eventually(sent, within=WITHIN_S)
    for _ in range(ROUNDS):
        reader.must_be_served(racks[far])
        reader.must_be_sent_to_one_of(racks[near], (near, beside))


def _reader(wire, rng, leader, followers):
    topic = placed(wire, f"led by {leader}", [leader, *followers], **ALONE)
    all_in_sync(wire, topic)
    wire.produce(topic, batch("a")).must_be_at(0)
    return ReaderOfSharedRack(wire, topic, leader, rng)


class ReaderOfSharedRack(RackReader):
    """Asks in the name of a rack that several replicas may be in."""

    def must_be_sent_to_one_of(self, rack, followers):
        """Which one is the broker's choice: the replica that has caught up furthest."""
        answer = self._asked(rack, 0)
        rows = [part for each in answer.struct.responses for part in each.partitions]
        found = [(part.preferred_read_replica, bool(part.records)) for part in rows]
        right = len(found) == 1 and found[0][0] in followers and not found[0][1]
        answer.must(right, f"(preferred replica, records) are {found}; it must be one of {followers}", "responses")
