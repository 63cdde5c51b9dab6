"""What begins a producer's next transaction while the one before has not got all of its markers (KIP-98, KIP-890)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition.coordinators_alone import TRANSACTION, coordinated_by
from brokertrial.suites.cases.replication._roles import WITHIN_S, placed
from brokertrial.suites.probe import COMMITTED
from brokertrial.suites.probe.apart import apart
from brokertrial.wire import errors

ALONE, LONG_MS = {"min.insync.replicas": "1"}, 60_000
UNDECIDED = {True: "PrepareCommit", False: "PrepareAbort"}


@case(
    "transactions/next-waits-for-every-marker",
    guarantees=["txn-023", "txn-011", "txn-001"],
    needs=["three-nodes", "leaders", "partitions", "network", "topic-settings"],
    apis={
        "CreateTopics": 5,
        "InitProducerId": 0,
        "AddPartitionsToTxn": 0,
        "AddOffsetsToTxn": 0,
        "EndTxn": 0,
        "DescribeTransactions": 0,
    },
    detects=["B159"],
)
def no_next_one_begins_before_all_have_it(wire, nodes, rng):
    """Until each partition of a transaction has its marker, what would begin the producer's next one MUST be refused
    with CONCURRENT_TRANSACTIONS (51), whoever asks and however often, and the transaction MUST be described as one that
    is being ended, with the partitions that have none yet. Then the next one MUST be taken, and both are decided as
    they were ended.

    One commits and one aborts while a leader is not reached; a partition, offsets and a new instance are next.
    """
    first = wire.name("x")
    coordinator = wire.coordinator(first, TRANSACTION)
    far = rng.choice([node for node in wire.nodes if node != coordinator])
    away, here = placed(wire, "away", [far], **ALONE), placed(wire, "here", [coordinator], **ALONE)
    names = (first, coordinated_by(wire, coordinator, TRANSACTION))
    ends = {
        wire.producer(name, timeout_ms=LONG_MS): commit
        for name, commit in zip(names, rng.sample((True, False), 2), strict=True)
    }
    for producer, commit in ends.items():
        for topic in rng.sample((away, here), 2):
            producer.send(topic, f"{commit}").must_succeed()
    with apart(nodes, far, "brokers"):
        for producer, commit in ends.items():
            (producer.commit() if commit else producer.abort()).must_succeed()
        for producer, commit in ends.items():
            with wire.part(UNDECIDED[commit]):
                for _ in range(2):
                    for begins in rng.sample(_beginnings(wire, producer, here), 3):
                        begins().must_be_refused(errors.CONCURRENT_TRANSACTIONS)
                    _must_be_under_way(wire, producer, UNDECIDED[commit], away)
    for topic in (away, here):
        _must_be_decided(wire, topic, ["True"])
    for producer, commit in ends.items():
        for topic in (away, here):
            producer.send(topic, f"after {commit}").must_succeed()
        producer.commit().must_succeed()
    for topic in (away, here):
        _must_be_decided(wire, topic, ["True", *(f"after {commit}" for commit in ends.values())])


def _must_be_decided(wire, topic, values):
    wire.await_settled(topic, within=WITHIN_S)
    wire.read_all(topic, isolation=COMMITTED).must_hold(*values)


def _beginnings(wire, producer, topic):
    """What a client asks of the coordinator first; the producer goes on in the epoch that the end brought it."""
    who = (producer.transactional_id, producer.id, producer.epoch)
    return [
        lambda: wire.add_partitions(*who, [(topic, 0)], retry=False),
        lambda: wire.add_offsets(*who, wire.name("g"), retry=False),
        lambda: wire.init_producer_id(producer.transactional_id, retry=False),
    ]


def _must_be_under_way(wire, producer, state, topic):
    answer = wire.describe_transaction(producer.transactional_id)
    row = answer.struct.transaction_states[0]
    found = (row.error_code, row.transaction_state, sorted(each.topic for each in row.topics))
    waits = found[:2] == (errors.NONE, state) and topic in found[2]
    answer.must(
        waits, f"(error, state, topics) are {found}; it is {state}, and {topic} has no marker", "transaction_states[0]"
    )
