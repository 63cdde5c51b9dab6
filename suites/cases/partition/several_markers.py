"""Markers of several partitions in one request: each is written where its replicas have it, and not where others do."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._replicas import NEEDS, take_over
from brokertrial.suites.cases.partition.coordinators_alone import ALONE, TRANSACTION, coordinated_by
from brokertrial.suites.cases.partition.markers import nothing_is_open
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed
from brokertrial.suites.probe import COMMITTED, batch
from brokertrial.suites.probe.apart import apart


@case(
    "partition/markers-of-several-partitions",
    guarantees=["txn-001", "txn-002", "txn-011"],
    needs=NEEDS,
    apis={
        "CreateTopics": 5,
        "EndTxn": 0,
        "DescribeProducers": 0,
        "ElectLeaders": 1,
        "AlterPartitionReassignments": 0,
    },
    detects=["B28"],
)
def each_partition_gets_its_marker(wire, nodes, rng):
    """A transaction over several partitions of one leader MUST be ended as it was decided in each of them, also in one
    whose follower lacked the marker and leads next, while those of the others have theirs.

    A longer log and a shorter one, with followers on different nodes; one transaction is committed, one aborted.
    """
    leader, follower, third = rng.sample(wire.nodes, 3)
    longer, shorter = placed(wire, "longer", [leader, third], **ALONE), placed(wire, "t", [leader, follower], **ALONE)
    producer = wire.producer(coordinated_by(wire, third, TRANSACTION))
    for number in range(rng.randint(5, 9)):
        wire.produce(longer, batch(f"plain {number}")).must_be_at(number)
    plain, committed = wire.read_all(longer).values, []
    for commits in rng.sample((True, False), 2):
        all_in_sync(wire, shorter)
        for topic in (longer, shorter):
            producer.send(topic, f"{commits}").must_succeed()
        committed += [f"{commits}"] * commits
        with apart(nodes, follower, "brokers", [leader]):
            (producer.commit() if commits else producer.abort()).must_succeed()
            wire.until(
                lambda: nothing_is_open(wire, shorter), within=WITHIN_S, what=f"the marker is written to {shorter}"
            )
            take_over(wire, shorter, [follower, leader])
        wire.refresh_metadata(shorter)
        for topic in (longer, shorter):
            wire.await_settled(topic, within=WITHIN_S)
        wire.read_all(longer, isolation=COMMITTED).must_hold(*plain, *committed)
        wire.read_all(shorter, isolation=COMMITTED).must_hold(*committed)
        all_in_sync(wire, shorter)
        take_over(wire, shorter, [leader, follower])
        wire.refresh_metadata(shorter)
