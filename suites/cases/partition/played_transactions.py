"""Transactions that a leader's followers have in part: the suite plays them."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._played import Played
from brokertrial.suites.cases.partition._replicas import NEEDS
from brokertrial.suites.cases.partition.coordinators_alone import ALONE, TRANSACTION, coordinated_by
from brokertrial.suites.cases.partition.played_followers import told_by_fetches
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed
from brokertrial.suites.probe import COMMITTED, batch
from brokertrial.suites.probe.apart import apart

STEPS = 4


@case(
    "partition/stable-as-its-followers-say",
    guarantees=["txn-001", "txn-004", "repl-004", "fetch-010"],
    needs=NEEDS,
    apis={"CreateTopics": 5, "Fetch": 12, "ListOffsets": 2, "WriteTxnMarkers": 1, "AddPartitionsToTxn": 0, "EndTxn": 0},
    detects=["B29"],
)
def what_followers_have_is_stable(wire, nodes, rng):
    """The last stable offset MUST be the first one of an open transaction, until each replica in sync has asked its
    leader for what comes after the marker that ends it, and then the end of what is committed: read_committed consumers
    see what lies below it, and no more, and ListOffsets names it. The marker MUST NOT be acknowledged earlier either.

    Two transactions, which are ended in a drawn order, the last one where everything before its marker is committed;
    positions of both followers in a drawn order before and after each marker, with plain batches beside them.
    """
    leader, *followers = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [leader, *followers], **ALONE)
    producers = {began: wire.producer(coordinated_by(wire, followers[0], TRANSACTION)) for began in (1, 2)}
    wire.produce(topic, batch("0")).must_be_at(0)
    for began, producer in producers.items():
        producer.send(topic, f"{began}").must_succeed()
    all_in_sync(wire, topic)
    results = {}
    with apart(nodes, leader, "brokers"):
        played = Played(wire, rng, topic, leader, followers, ["0", "1", "2"])
        played.transactions = dict.fromkeys(producers)
        told_by_fetches(wire, played)
        for turn, began in enumerate(rng.sample(sorted(producers), 2)):
            _some_steps(played)
            if turn:
                played.all_say_the_end()
            results[began] = played.mark(producers[began], began)
            for _ in range(STEPS):
                played.must_be_seen()
            _some_steps(played)
            played.all_say_the_end()
            played.must_be_seen()
    all_in_sync(wire, topic)
    for began, producer in producers.items():
        (producer.commit() if results[began] else producer.abort()).must_succeed()
    wire.await_settled(topic, within=WITHIN_S)
    aborted = [f"{began}".encode() for began, result in results.items() if not result]
    committed = [value for value in played.held(0, played.end) if value not in aborted]
    wire.read_all(topic, isolation=COMMITTED).must_hold(*committed)


def _some_steps(played):
    for _ in range(STEPS):
        if played.rng.random() < 0.4:
            played.rng.choice((played.write, played.write_for_all))()
        played.says_something(played.rng.choice(list(played.at)))
        played.must_be_seen()
