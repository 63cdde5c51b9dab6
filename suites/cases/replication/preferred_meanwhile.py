"""Leaders go back to the first replica by themselves (auto.leader.rebalance.enable), whatever else is under way."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import NO_NODE, WITHIN_S, partition, placed
from brokertrial.suites.probe import batch
from brokertrial.wire.messages import request

ALONE = {"min.insync.replicas": "1"}
ENABLED, INTERVAL = "auto.leader.rebalance.enable", "leader.imbalance.check.interval.seconds"
TOPICS = 3


@case(
    "replication/preferred-while-another-moves",
    guarantees=["repl-017", "adm-014"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "settings", "kill", "restart"],
    apis={"AlterPartitionReassignments": 0, "ListPartitionReassignments": 0, "DescribeConfigs": 1},
    detects=["K49"],
)
def who_is_first_comes_to_lead(wire, nodes, rng):
    """Where brokers see to it that the first replica leads, it MUST come to lead a partition whose replicas were given
    another order, also while another partition is on the move to a node that is dead, and cannot end.

    Three partitions on two nodes, all led by the one that is to come second; the third node is dead.
    """
    if wire.setting(ENABLED) != "true":
        wire.not_applicable(f"{ENABLED} is {wire.setting(ENABLED)} on this cluster", "cluster-setting")
    wire.needs_setting(INTERVAL, at_most=10)
    asked = wire.controller()
    dead = rng.choice([node for node in wire.nodes if node != asked])
    first, second = rng.sample([node for node in wire.nodes if node != dead], 2)
    topics = [placed(wire, f"turned-{number}", [second, first], **ALONE) for number in range(TOPICS)]
    moving = placed(wire, "moving", [first, second], **ALONE)
    watched = placed(wire, "watched", [first, second, dead], **ALONE)
    nodes.kill(dead)
    _reassign(wire, asked, {moving: [first, dead]})  # at once: once it is known to be dead, some refuse that
    wire.until(
        lambda: {*partition(wire, watched).isr_nodes} == {first, second},
        within=WITHIN_S,
        what=f"{dead} is out of sync",
    )
    _reassign(wire, asked, {topic: [first, second] for topic in topics})
    for topic in topics:
        wire.eventually(lambda at=topic: _must_be_led(wire, at, first, second), within=WITHIN_S)
    answer = wire.ask(request("ListPartitionReassignments", topics=None, timeout_ms=10_000), to=asked)
    found = [each.name for each in answer.must_succeed().struct.topics]
    answer.must(found == [moving], f"{found} are listed as on the move; it must be {moving} alone", "topics")
    for topic in (*topics, moving):
        wire.produce(topic, batch("a")).must_be_at(0)


@case(
    "replication/preferred-time-and-again",
    guarantees=["repl-017"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "settings", "kill", "restart"],
    apis={"DescribeConfigs": 1},
    detects=["J02"],
)
def it_leads_after_each_return(wire, nodes, rng):
    """Where brokers see to it that the first replica leads, it MUST come to lead what it led after each of its returns,
    with nobody asking for an election, and not after the first one alone.

    Three partitions of three nodes each; the node that leads them is killed and started, three times.
    """
    if wire.setting(ENABLED) != "true":
        wire.not_applicable(f"{ENABLED} is {wire.setting(ENABLED)} on this cluster", "cluster-setting")
    wire.needs_setting(INTERVAL, at_most=10)
    order = rng.sample(list(wire.nodes), 3)
    first = order[0]
    topics = [placed(wire, f"led-{number}", order, **ALONE) for number in range(TOPICS)]
    for turn in range(TOPICS):
        nodes.kill(first)
        for topic in topics:
            wire.until(
                lambda at=topic: partition(wire, at).leader_id not in (first, NO_NODE),
                within=WITHIN_S,
                what=f"another node than {first} leads {topic}",
            )
        nodes.start(first)
        for topic in topics:
            wire.eventually(lambda at=topic, turn=turn: _must_lead_again(wire, at, first, turn), within=WITHIN_S)
            wire.produce(topic, batch("a")).must_be_at(turn)


def _must_lead_again(wire, topic, first, turn):
    row = partition(wire, topic)
    wire.must(
        row.leader_id == first,
        f"{topic} is led by {row.leader_id} after return {turn + 1} of {first}, which must lead it: it is its first "
        f"replica, and in sync are {row.isr_nodes}",
    )


def _reassign(wire, node, moves):
    rows = [
        {"name": topic, "partitions": [{"partition_index": 0, "replicas": after}]} for topic, after in moves.items()
    ]
    asked = request("AlterPartitionReassignments", timeout_ms=10_000, topics=rows)
    wire.ask(asked, to=node).must_succeed()


def _must_be_led(wire, topic, first, second):
    row = partition(wire, topic)
    wire.must(
        [*row.replica_nodes] == [first, second] and row.leader_id == first,
        f"it is on {[*row.replica_nodes]} and led by {row.leader_id}; {first} must come to lead",
    )
