"""Brokers with racks that choose no replica by them: without a selector consumers read at the leader (KIP-392)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import all_in_sync, placed
from brokertrial.suites.cases.replication.sent_to_their_rack import FOLLOWED_SINCE, RACK, SELECTOR, RackReader
from brokertrial.suites.probe import batch

ALONE = {"min.insync.replicas": "1"}
ROUNDS = 3


@case(
    "replication/racks-without-a-selector",
    guarantees=["fetch-012"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "chosen-settings", "terminate", "restart"],
    apis={"Fetch": FOLLOWED_SINCE},
    detects=["B346"],
)
def who_has_a_rack_reads_at_the_leader(wire, nodes, rng):
    """Where brokers have racks and no replica.selector.class is set, the leader MUST itself return the records to every
    consumer, whichever rack it names: that of a follower, its own, another one or none. A rack alone decides where
    replicas are placed (KIP-36).

    Each node leads a topic in turn; drawn versions.
    """
    if wire.setting(SELECTOR):
        wire.not_applicable(f"{SELECTOR} is {wire.setting(SELECTOR)} on this cluster", "cluster-setting")
    for node in wire.nodes:
        nodes.start_with({RACK: f"rack {node}"}, only=[node])
    racks = [*(f"rack {node}" for node in wire.nodes), "rack of nobody", ""]
    for leader in wire.nodes:
        topic = placed(wire, f"led by {leader}", [leader, *(node for node in wire.nodes if node != leader)], **ALONE)
        all_in_sync(wire, topic)
        wire.produce(topic, batch("a")).must_be_at(0)
        reader = RackReader(wire, topic, leader, rng)
        for _ in range(ROUNDS):
            for rack in rng.sample(racks, len(racks)):
                reader.must_be_served(rack)
