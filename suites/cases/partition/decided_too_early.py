"""What is decided of a partition before its followers have it: by a marker, or by what becomes of another one."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._open_request import OpenRequest
from brokertrial.suites.cases.partition._replicas import (
    NEEDS,
    SURELY_KNOWN_S,
    is_in_sync,
    take_over,
)
from brokertrial.suites.cases.partition.coordinators_alone import ALONE, TRANSACTION, coordinated_by
from brokertrial.suites.cases.partition.markers import nothing_is_open
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed
from brokertrial.suites.probe import COMMITTED, batch
from brokertrial.suites.probe.apart import apart
from brokertrial.wire.messages import request

SOON_S, LOOKS = 2, 4
LONG_MS = 60_000
COPIES = {"min.insync.replicas": "2"}


@case(
    "partition/marker-that-is-not-replicated",
    guarantees=["txn-001", "txn-004", "repl-004"],
    needs=NEEDS,
    apis={"CreateTopics": 5, "EndTxn": 0, "DescribeProducers": 0},
    detects=["B29"],
)
def a_marker_that_a_replica_in_sync_lacks_decides_nothing(wire, nodes, rng):
    """While a replica in sync lacks the marker of a transaction, its records MUST NOT be returned to read_committed
    consumers, and the last stable offset MUST be where it began: the next leader may not know of its end yet.

    The marker is the first record that is not replicated in one turn; in the other one a plain record comes before it.
    """
    leader, follower, third = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [leader, follower], **ALONE)
    producer = wire.producer(coordinated_by(wire, third, TRANSACTION))
    looks, committed = 0, []
    for turn, alone in enumerate(rng.sample(([], ["plain"]), 2)):
        all_in_sync(wire, topic)
        begins = producer.send(topic, f"{turn}").offset
        with apart(nodes, follower, "brokers", [leader]):
            for value in alone:
                wire.produce(topic, batch(value), acks=1).must_succeed()
            producer.commit().must_succeed()
            wire.until(lambda: nothing_is_open(wire, topic), within=WITHIN_S, what=f"the marker is written to {topic}")
            looks += sum(is_undecided(wire, topic, follower, begins) for _ in range(LOOKS))
        committed += [f"{turn}", *alone]
        wire.await_settled(topic, within=WITHIN_S)
        wire.read_all(topic, isolation=COMMITTED).must_hold(*committed)
    if not looks:
        wire.unclear("the marker was never seen while the follower was in sync and lacked it", "unobserved")


def is_undecided(wire, topic, follower, begins):
    """Whether it was looked at while the follower was in sync: then the transaction must be open for readers."""
    leader = wire.leader(topic)
    seen = wire.fetch(topic, offset=begins, isolation=COMMITTED, max_wait_ms=100)
    listed = wire.list_offsets(topic, isolation=COMMITTED)
    if not is_in_sync(wire, topic, follower, leader):
        return False
    if seen.records or listed.offset != begins:
        wire.rest(SURELY_KNOWN_S)
        wire.must(
            not is_in_sync(wire, topic, follower, leader),
            f"{seen.values} are returned, and the last stable offset is {listed.offset}; node {follower} is in sync, "
            f"and lacks the end of the transaction that begins at {begins}",
            seen,
            listed,
        )
    return True


@case(
    "partition/one-of-two-partitions-is-deposed",
    guarantees=["prod-010", "repl-010", "repl-001"],
    needs=NEEDS,
    apis={"CreateTopics": 5, "ElectLeaders": 1, "AlterPartitionReassignments": 0},
    detects=["B30"],
)
def each_partition_of_a_request_waits_for_itself(wire, nodes, rng):
    """Of a Produce with acks=all to two partitions, each MUST be acknowledged only when its own replicas have the
    record: also when the other one gets another leader meanwhile, and is refused.

    No follower gets anything from the leader of both when one of them is given another one.
    """
    leader, second, third = rng.sample(wire.nodes, 3)
    goes, stays = placed(wire, "goes", [leader, second], **COPIES), placed(wire, "stays", [leader, third], **COPIES)
    for topic in (goes, stays):
        all_in_sync(wire, topic)
        wire.produce(topic, batch("before")).must_be_at(0)
    rows = [
        {
            "name": topic,
            "topic_id": wire.topic_id(topic),
            "partition_data": [{"index": 0, "records": batch("both")}],
        }
        for topic in rng.sample((goes, stays), 2)
    ]
    with apart(nodes, leader, "brokers"):
        both = OpenRequest(wire, leader, request("Produce", acks=-1, timeout_ms=LONG_MS, topic_data=rows), "both")
        take_over(wire, goes, [second, leader])
        both.await_answer(SOON_S)
        if both.answered:
            code = code_of(wire, both.response.struct, stays)
            both.response.must(code != 0, f"{stays} is acknowledged, and node {third} lacks the record")
    both.await_answer(WITHIN_S)
    all_in_sync(wire, stays)
    held = wire.read_all(stays)
    if both.answered and not code_of(wire, both.response.struct, stays):
        held.must_hold("before", "both")


def code_of(wire, answer, topic):
    """The error code of the first partition of a topic in an answer to Produce."""
    rows = [row for row in answer.responses if row.name == topic or row.topic_id == wire.topic_id(topic)]
    return rows[0].partition_responses[0].error_code
