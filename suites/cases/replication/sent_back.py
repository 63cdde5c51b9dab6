"""Partitions on the move that are sent back to the replicas that they came from, by these and not by `null` (KIP-455).

That is what the plan does that kafka-reassign-partitions prints for a rollback. When it is over is not asked: Apache
Kafka 4.3 and 4.4 wait for ever there, for what is to be added and removed at once. Nor is a move that takes replicas
away alone: there Apache Kafka goes on to remove them.
"""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, on_the_move, partition, placed
from brokertrial.suites.cases.replication.called_off import _move
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.messages import request

ALONE = {"min.insync.replicas": "1"}
OVER = (errors.NONE, errors.NO_REASSIGNMENT_IN_PROGRESS)


@case(
    "replication/sent-back-to-where-it-came-from",
    guarantees=["adm-014", "adm-019", "repl-001"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    apis={"AlterPartitionReassignments": 0, "ListPartitionReassignments": 0},
    detects=["B230"],
)
def who_is_sent_back_does_not_go_on(wire, nodes, rng):
    """A partition that is on the move and is reassigned to the replicas that it came from MUST be theirs again: none of
    them may be listed as going, and whoever was to come is listed as going or not at all. When that node is there the
    move MUST NOT be complete; called off, if it is not over, it is held by these replicas alone, and can be moved anew.

    To a node that is dead: to it beside others, to it alone, of one replica and of two; sent back once or twice. One
    that is not sent back shows when the others would have been complete.
    """
    one, two, dead = rng.sample(list(wire.nodes), 3)
    moves = {
        placed(wire, what, before, **ALONE): (before, after)
        for what, before, after in rng.sample(
            [
                ("more", [one], [one, dead]),
                ("more of two", [two, one], [two, one, dead]),
                ("first", [two], [dead, two]),
                ("exchanged", [one], [dead]),
                ("one of two", [one, two], [two, dead]),
                ("goes on", [two], [two, dead]),
            ],
            6,
        )
    }
    for topic in moves:
        all_in_sync(wire, topic)
        wire.produce(topic, batch("a")).must_be_at(0)
    witness = placed(wire, "witness", [one, dead], **ALONE)
    all_in_sync(wire, witness)
    nodes.kill(dead)
    wire.until(lambda: dead not in partition(wire, witness).isr_nodes, within=WITHIN_S, what=f"{dead} is out of sync")
    asked = rng.choice((one, two))
    for topic, (_, after) in moves.items():
        _move(wire, asked, topic, after)
    goes_on = next(topic for topic, (_, after) in moves.items() if after == [two, dead] and moves[topic][0] == [two])
    sent_back = [topic for topic in moves if topic != goes_on]
    for topic in sent_back:
        before, after = moves[topic]
        with wire.part(f"from {len(before)} to {len(after)}"):
            for _ in range(rng.randint(1, 2)):
                _move(wire, asked, topic, before)
                _must_be_going_back(wire, asked, topic, before)
            wire.produce(topic, batch("b")).must_be_at(1)
    nodes.start(dead)
    for topic in (witness, goes_on):
        wire.await_topic(topic)
        wire.until(lambda at=topic: dead in partition(wire, at).isr_nodes, within=WITHIN_S, what=f"{dead} is in sync")
    wire.until(lambda: goes_on not in on_the_move(wire, asked)[0], within=WITHIN_S, what="what goes on is over")
    for topic in sent_back:
        before, after = moves[topic]
        with wire.part(f"from {len(before)} to {len(after)}, called off"):
            _call_off(wire, asked, topic)
            wire.eventually(lambda at=topic, on=before: _must_be_held_by(wire, asked, at, on), within=WITHIN_S)
            wire.read_all(topic).must_hold("a", "b")
    again = rng.choice(sent_back)
    _move(wire, asked, again, moves[again][1])
    wire.eventually(lambda: _must_be_held_by(wire, asked, again, moves[again][1]), within=WITHIN_S)
    wire.refresh_metadata(again)
    wire.read_all(again).must_hold("a", "b")


def _must_be_going_back(wire, asked, topic, before):
    """What is listed of it goes there, or nothing is listed, as it is there."""
    rows = [{"name": topic, "partition_indexes": [0]}]
    answer = wire.ask(request("ListPartitionReassignments", topics=rows, timeout_ms=10_000), to=asked).must_succeed()
    for row in (part for each in answer.struct.topics for part in each.partitions):
        stay = [node for node in row.replicas if node not in row.removing_replicas]
        answer.must(
            stay == before,
            f"it is sent back to {before}; it is listed on {row.replicas}, of which {row.removing_replicas} go",
            "topics",
        )
    shown = partition(wire, topic)
    wire.must({*before} <= {*shown.replica_nodes}, f"it is on {shown.replica_nodes}; it came from {before}")


def _call_off(wire, asked, topic):
    rows = [{"name": topic, "partitions": [{"partition_index": 0, "replicas": None}]}]
    answer = wire.ask(request("AlterPartitionReassignments", timeout_ms=10_000, topics=rows), to=asked)
    code = answer.struct.responses[0].partitions[0].error_code
    answer.must(code in OVER, f"it is answered with {errors.name(code)} ({code})", "responses")


def _must_be_held_by(wire, asked, topic, replicas):
    """In this order, and nothing of it is on the move."""
    listed, answer = on_the_move(wire, asked)
    answer.must(topic not in listed, f"on the move are {listed}; {topic} is where it is to be", "topics")
    found = list(partition(wire, topic).replica_nodes)
    wire.must(found == replicas, f"{topic} is on {found}; it must be on {replicas}")
