"""ListPartitionReassignments while some of several partitions are on the move (KIP-455)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S
from brokertrial.wire.messages import request

ALONE = {"min.insync.replicas": "1"}
TOPICS, PARTITIONS, LEFT_OUT, ROUNDS = 2, 6, 99, 15


@case(
    "replication/moves-listed-by-partition",
    guarantees=["adm-019"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    apis={"CreateTopics": 5, "AlterPartitionReassignments": 0, "ListPartitionReassignments": 0},
    detects=["B274", "B277"],
)
def each_move_is_listed_where_it_is_asked_for(wire, nodes, rng):
    """While partitions are on the move, ListPartitionReassignments MUST list those of them that it is asked for and no
    others, or all where its topics are null: each with all its replicas, those that come and those that are to go
    included, and with who comes and who goes. Partitions that stay, or do not exist, are not listed, and none is once
    the nodes that come are in sync.

    Two topics of six partitions: a dead node is added, replaces a replica, or replaces both; others stay.
    """
    one, other, dead = rng.sample(list(wire.nodes), 3)
    topics = [_spread(wire, f"t{number}", one, other) for number in range(TOPICS)]
    nodes.kill(dead)
    for node in (one, other):
        wire.until(lambda at=node: dead not in _alive(wire, at), within=WITHIN_S, what=f"{dead} is dead, at {node}")
    moves = {topic: _drawn_moves(rng, one, other, dead) for topic in topics}
    rows = [
        {"name": topic, "partitions": [{"partition_index": index, "replicas": to} for index, to in targets.items()]}
        for topic, targets in moves.items()
    ]
    asked = request("AlterPartitionReassignments", timeout_ms=10_000, topics=rows)
    wire.ask(asked, to=wire.controller).must_succeed()
    wanted = {
        (topic, index): (sorted({one, other, *to}), [dead], sorted({one, other} - {*to}))
        for topic, targets in moves.items()
        for index, to in targets.items()
    }
    _must_be_listed(wire, wanted, None, topics)
    for _ in range(ROUNDS):
        named = rng.sample([*topics, wire.name("absent")], rng.randint(1, TOPICS + 1))
        some = [*range(PARTITIONS), LEFT_OUT]
        _must_be_listed(wire, wanted, {topic: rng.sample(some, rng.randint(1, 4)) for topic in named}, topics)
    nodes.start(dead)
    wire.eventually(lambda: _must_be_listed(wire, {}, None, topics), within=WITHIN_S)
    for topic, targets in moves.items():
        wire.await_topic(topic)
        wire.eventually(lambda at=topic, to=targets: _must_be_held(wire, at, to), within=WITHIN_S)


def _spread(wire, what, one, other):
    topic = wire.name(what)
    on = {index: [one, other] if index % 2 else [other, one] for index in range(PARTITIONS)}
    wire.create_topic(topic, partitions=-1, assignments=on, configs=ALONE).must_succeed()
    wire.await_topic(topic)
    return topic


def _alive(wire, node):
    return [row.node_id for row in wire.metadata(to=node).struct.brokers]


def _drawn_moves(rng, one, other, dead):
    """Of each kind one, of partitions that are drawn; two stay at the least."""
    first, second = rng.sample((one, other), 2)
    targets = [[first, dead], [dead, second], [dead], [one, other, dead]]
    return dict(zip(sorted(rng.sample(range(PARTITIONS), len(targets))), targets, strict=True))


def _must_be_listed(wire, moving, asked_for, ours):
    """What of it is on the move; None asks for all, and others than ours may be listed then."""
    rows = asked_for and [{"name": topic, "partition_indexes": indexes} for topic, indexes in asked_for.items()]
    asked = request("ListPartitionReassignments", topics=rows, timeout_ms=10_000)
    answer = wire.ask(asked, to=wire.controller).must_succeed()
    found = {
        (topic.name, row.partition_index): (
            sorted(row.replicas),
            sorted(row.adding_replicas),
            sorted(row.removing_replicas),
        )
        for topic in answer.struct.topics
        if asked_for is not None or topic.name in ours
        for row in topic.partitions
    }
    wanted = {
        place: who for place, who in moving.items() if asked_for is None or place[1] in asked_for.get(place[0], ())
    }
    said = f"asked for {_places(asked_for)} it lists"
    more, less = sorted(found.keys() - wanted.keys()), sorted(wanted.keys() - found.keys())
    answer.must(not more, f"{said} {_names(more)}, too", "topics")
    answer.must(not less, f"{said} not {_names(less)}", "topics")
    for place, who in wanted.items():
        answer.must(
            found[place] == who, f"{said} {_names([place])} with {_roles(found[place])}; it must be {_roles(who)}"
        )


def _places(asked_for):
    if asked_for is None:
        return "all partitions"
    return _names(sorted((topic, index) for topic, indexes in asked_for.items() for index in indexes))


def _names(places):
    return ", ".join(f"{topic}-{index}" for topic, index in places)


def _roles(who):
    return ", ".join(f"{role} {nodes}" for role, nodes in zip(("replicas", "adding", "removing"), who, strict=True))


def _must_be_held(wire, topic, targets):
    answer = wire.metadata(topic).must_succeed()
    found = {row.partition_index: list(row.replica_nodes) for row in answer.struct.topics[0].partitions}
    wrong = {index: found[index] for index, to in targets.items() if found[index] != to}
    answer.must(not wrong, f"partitions are on {wrong}; they were to be on {targets}", "topics")
