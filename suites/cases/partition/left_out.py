"""Followers that a new leader never hears of."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._replicas import NEEDS, is_in_sync, take_over
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.apart import apart


@case(
    "partition/left-out-by-a-new-leader",
    guarantees=["repl-002", "repl-010", "prod-010"],
    needs=NEEDS,
    apis={"CreateTopics": 5, "ElectLeaders": 1, "AlterPartitionReassignments": 0},
    detects=["B27"],
)
def who_is_never_heard_of_is_left_out(wire, nodes, rng):
    """A follower that has not asked a new leader for anything MUST be left out of those in sync once it lags, and
    acks=all MUST be acknowledged again by those that are left; when it is back it MUST be in sync with everything.

    It is cut off from the other brokers before the leader changes, and is alive for the controllers.
    """
    former, new, lagging = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [former, new, lagging], **{"min.insync.replicas": "2"})
    all_in_sync(wire, topic)
    wire.produce(topic, batch("before")).must_be_at(0)
    with apart(nodes, lagging, "brokers"):
        take_over(wire, topic, [new, former, lagging])
        wire.refresh_metadata(topic)
        wire.produce(topic, batch("without it"), acks=1, to=new).must_be_at(1)
        wire.until(
            lambda: not is_in_sync(wire, topic, lagging, new), within=WITHIN_S, what=f"node {lagging} is left out"
        )
        wire.produce(topic, batch("acknowledged"), to=new).must_be_at(2)
    all_in_sync(wire, topic)
    wire.read_all(topic).must_hold("before", "without it", "acknowledged")
