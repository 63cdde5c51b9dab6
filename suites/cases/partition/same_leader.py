"""Leaders that stay when a new epoch begins: what waits there goes on waiting."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._open_request import OpenRequest
from brokertrial.suites.cases.partition._replicas import NEEDS, REPLICATED_S, produce_request, shown_by
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed, reassign
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.apart import apart

LONG_MS = 60_000


@case(
    "partition/waiting-at-a-leader-that-stays",
    guarantees=["prod-010", "repl-007", "adm-014"],
    needs=NEEDS,
    apis={"CreateTopics": 5, "AlterPartitionReassignments": 0},
    detects=["B26"],
)
def what_waits_at_a_leader_that_stays_is_acknowledged(wire, nodes, rng):
    """A Produce with acks=all that waits for followers while a reassignment takes one of the replicas away, and the
    leader stays, MUST be acknowledged once the others have it, with its offset: its producer, which may be none that
    numbers its batches, would write it twice.

    No follower gets anything from the leader when the reassignment completes.
    """
    leader, second, third = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [leader, second, third], **{"min.insync.replicas": "2"})
    all_in_sync(wire, topic)
    wire.produce(topic, batch("before")).must_be_at(0)
    with apart(nodes, leader, "brokers"):
        waiting = OpenRequest(wire, leader, produce_request(wire, topic, batch("waits"), LONG_MS), "produce")
        wire.rest(REPLICATED_S)
        reassign(wire, {topic: [leader, second]}, to=wire.controller)
        wire.until(
            lambda: shown_by(wire, topic, leader).replica_nodes == [leader, second],
            within=WITHIN_S,
            what=f"the replicas are {leader} and {second}",
        )
        waiting.await_answer(REPLICATED_S)
    stays = shown_by(wire, topic, leader).leader_id == leader
    if not stays:
        wire.unclear(f"node {leader} did not lead on", "unobserved")
    waiting.await_answer(WITHIN_S)
    wire.must(waiting.answered, "a Produce that waits at a leader that stays has no answer, and its followers have it")
    waiting.response.must(waiting.acknowledged, f"it is {waiting.said}; its leader stays, and its followers have it")
    wire.refresh_metadata(topic)
    wire.read_all(topic).must_hold("before", "waits")
