"""Markers of transactions that a leader has written when its follower, which lacks them, becomes the leader."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._replicas import NEEDS, take_over
from brokertrial.suites.cases.partition.coordinators_alone import ALONE, TRANSACTION, coordinated_by
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed
from brokertrial.suites.probe import COMMITTED
from brokertrial.suites.probe.apart import apart

NOTHING_OPEN = -1


@case(
    "partition/markers-reach-the-next-leader",
    guarantees=["txn-001", "txn-002", "txn-011"],
    needs=NEEDS,
    apis={
        "CreateTopics": 5,
        "EndTxn": 0,
        "DescribeProducers": 0,
        "ElectLeaders": 1,
        "AlterPartitionReassignments": 0,
    },
    detects=["B18"],
)
def a_marker_that_the_next_leader_lacks_is_written_again(wire, nodes, rng):
    """A transaction that was ended MUST be ended so in each of its partitions, also where the leader that had written
    the marker was replaced by a follower that had not got it; the producer MUST be able to go on.

    One that is committed and one that is aborted, each over that partition and one beside it. Meanwhile the two
    replicas do not hear each other, and everybody else hears both.
    """
    leader, follower, third = rng.sample(wire.nodes, 3)
    topic, beside = placed(wire, "t", [leader, follower], **ALONE), placed(wire, "beside", [third], **ALONE)
    producer = wire.producer(coordinated_by(wire, third, TRANSACTION))
    committed = []
    for commits in rng.sample((True, False), 2):
        all_in_sync(wire, topic)
        for each in (topic, beside):
            producer.send(each, f"{commits}").must_succeed()
        committed += [f"{commits}"] * commits
        with apart(nodes, follower, "brokers", [leader]):
            (producer.commit() if commits else producer.abort()).must_succeed()
            wire.until(lambda: nothing_is_open(wire, topic), within=WITHIN_S, what=f"the marker is written to {topic}")
            take_over(wire, topic, [follower, leader])
        leader, follower = follower, leader
        wire.refresh_metadata(topic)
        for each in (topic, beside):
            wire.await_settled(each, within=WITHIN_S)
            wire.read_all(each, isolation=COMMITTED).must_hold(*committed)
    all_in_sync(wire, topic)
    for each in (topic, beside):
        producer.send(each, "next").must_succeed()
    producer.commit().must_succeed()
    for each in (topic, beside):
        wire.await_settled(each, within=WITHIN_S)
        wire.read_all(each, isolation=COMMITTED).must_hold(*committed, "next")


def nothing_is_open(wire, topic):
    """Whether the leader knows of no open transaction, whether that is replicated or not."""
    row = wire.describe_producers(topic).struct.topics[0].partitions[0]
    return all(one.current_txn_start_offset == NOTHING_OPEN for one in row.active_producers)
