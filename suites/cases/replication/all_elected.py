"""ElectLeaders without partitions: all of them (KIP-460)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, partition, placed, reassign
from brokertrial.wire.messages import request

TOPICS, TURNS = 4, 5


@case(
    "replication/all-leaders-are-elected-at-once",
    guarantees=["adm-013", "repl-002"],
    needs=["three-nodes", "leaders", "partitions"],
    apis={"ElectLeaders": 0, "AlterPartitionReassignments": 0},
    detects=["D93"],
)
def null_elects_all(wire, rng):
    """ElectLeaders whose list of partitions is null MUST have each partition led by its first replica where that one is
    in sync, and MUST name those of which the leader has changed, without an error.

    Four topics, the replicas of which are given another order five times. Kafka may elect by itself in between
    (auto.leader.rebalance.enable): a partition that is led by its first replica already is not named.
    """
    topics = [placed(wire, f"t{number}", rng.sample(wire.nodes, 3)) for number in range(TOPICS)]
    elected = dict.fromkeys(topics, 0)
    for _ in range(TURNS):
        first = {topic: _reordered(wire, rng, topic) for topic in topics}
        version = rng.choice(list(wire.versions("ElectLeaders")))
        asked = request("ElectLeaders", topic_partitions=None, timeout_ms=20_000)
        answer = wire.ask(asked, version=version, to=wire.controller, may_take_s=20)
        for row in answer.struct.replica_election_results:
            if row.topic in elected:
                codes = [part.error_code for part in row.partition_result]
                answer.must(not any(codes), f"{row.topic} is answered with {codes}", "replica_election_results")
                elected[row.topic] += len(codes)
        for topic, node in first.items():
            wire.until(
                lambda of=topic, node=node: partition(wire, of).leader_id == node,
                within=WITHIN_S,
                what=f"{topic} is led by its first replica, node {node}",
            )
    never = [topic for topic in topics if not elected[topic]]
    wire.must(not never, f"ElectLeaders for all partitions, {TURNS} times, names no change of {', '.join(never)}")


def _reordered(wire, rng, topic):
    """The node that is the first replica now, and does not lead."""
    all_in_sync(wire, topic)
    leader = partition(wire, topic).leader_id
    first = rng.choice([node for node in wire.nodes if node != leader])
    order = [first, *(node for node in wire.nodes if node != first)]
    reassign(wire, {topic: order}, wire.controller)
    wire.until(
        lambda: partition(wire, topic).replica_nodes == order,
        within=WITHIN_S,
        what=f"the replicas of {topic} are {order}",
    )
    return first
