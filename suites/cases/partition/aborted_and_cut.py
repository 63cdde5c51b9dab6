"""An aborted transaction that only its leader had, and gave up: nothing to what its producer commits later."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._replicas import NEEDS, take_over
from brokertrial.suites.cases.partition.coordinators_alone import ALONE, TRANSACTION, coordinated_by
from brokertrial.suites.cases.partition.markers import nothing_is_open
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed
from brokertrial.suites.probe import COMMITTED, batch
from brokertrial.suites.probe.apart import apart


@case(
    "partition/aborted-where-it-was-cut",
    guarantees=["txn-001", "txn-002", "repl-009"],
    needs=NEEDS,
    apis={
        "CreateTopics": 5,
        "EndTxn": 0,
        "DescribeProducers": 0,
        "ElectLeaders": 1,
        "AlterPartitionReassignments": 0,
    },
    detects=["B41"],
)
def what_is_committed_later_is_returned(wire, nodes, rng):
    """When a leader gives up an aborted transaction that no other replica had, with its marker, what the same producer
    commits afterwards MUST be returned to read_committed consumers from wherever they read, also by that node when it
    leads again: the offsets of the aborted records are those of others now.
    """
    leader, follower, third = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [leader, follower], **ALONE)
    producer = wire.producer(coordinated_by(wire, third, TRANSACTION))
    all_in_sync(wire, topic)
    wire.produce(topic, batch("before")).must_be_at(0)
    with apart(nodes, follower, "brokers", [leader]):
        aborted = [f"aborted {number}" for number in range(rng.randint(4, 8))]
        producer.prepared(topic, *aborted)(acks=1).must_be_at(1)
        producer.abort().must_succeed()
        wire.until(lambda: nothing_is_open(wire, topic), within=WITHIN_S, what=f"the marker is written to {topic}")
        take_over(wire, topic, [follower, leader])
    wire.refresh_metadata(topic)
    wire.await_settled(topic, within=WITHIN_S)
    all_in_sync(wire, topic)
    producer.start()
    committed = {0: b"before"}
    for number in range(2):
        committed[producer.send(topic, f"committed {number}").offset] = f"committed {number}".encode()
        producer.commit().must_succeed()
        wire.await_settled(topic, within=WITHIN_S)
    all_in_sync(wire, topic)
    for order in ([follower, leader], [leader, follower]):
        take_over(wire, topic, order)
        wire.refresh_metadata(topic)
        wire.await_settled(topic, within=WITHIN_S)
        for begin in range(wire.log_end(topic)):
            log = wire.read_all(topic, offset=begin, isolation=COMMITTED)
            log.must_hold(*(value for offset, value in committed.items() if offset >= begin))
