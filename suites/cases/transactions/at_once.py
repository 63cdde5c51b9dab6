"""Many transactions at the same moment, each on its own connection, and one that is asked for by many."""

from functools import partial

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED, UNCOMMITTED
from brokertrial.suites.probe.at_once import at_once
from brokertrial.wire import errors
from brokertrial.wire.records import Record

TRANSACTIONS = {"AddPartitionsToTxn": 0, "EndTxn": 0}
PRODUCERS, PARTITIONS, ROUNDS, RECORDS = 12, 6, 6, 20
CODECS = ("lz4", "zstd", "lz4", "zstd", "gzip", "snappy", "none")
TURNS, CLIENTS, PATIENT_MS = 16, 6, 60_000
FENCED = (errors.INVALID_PRODUCER_EPOCH, errors.PRODUCER_FENCED)
ENDED = (*FENCED, errors.INVALID_TXN_STATE)


@case(
    "transactions/many-at-once",
    guarantees=["txn-001", "txn-002", "ord-001"],
    apis=TRANSACTIONS,
    needs=["partitions"],
    detects=["M15b"],
)
def many_transactions_at_once_are_each_its_own(wire, topic_of, transactional_id, rng):
    """However many transactional producers send and end at the same moment, each batch MUST be accepted, and a
    read_committed consumer MUST read the records of all that committed, in the order of their producer, and no other.

    Twelve producers, each on its own connection, six rounds over six partitions, batches of any codec.
    """
    topic = topic_of(partitions=PARTITIONS)
    names = [transactional_id, *(wire.name(f"x{number}") for number in range(1, PRODUCERS))]
    producers = [
        wire.producer(name, timeout_ms=PATIENT_MS, via=f"producer {number}") for number, name in enumerate(names)
    ]
    sent = {partition: [] for partition in range(PARTITIONS)}  # type: ignore[var-annotated]
    for turn in range(ROUNDS):
        sends, ends = [], []
        for number, producer in enumerate(producers):
            commits = rng.random() < 0.7
            ends.append(partial(producer.commit if commits else producer.abort))
            for partition in rng.sample(range(PARTITIONS), rng.randint(1, 4)):
                values = [
                    b"%d %d %d %s" % (number, turn, at, rng.randbytes(500).hex().encode()) for at in range(RECORDS)
                ]
                records, codec = [Record(None, value) for value in values], rng.choice(CODECS)
                sends.append(producer.prepared(topic, records=records, partition=partition, compression=codec))
                sent[partition] += [(number, value, commits) for value in values]
        for answer in at_once(wire, sends):
            answer.must_succeed()
        for producer, answer in zip(producers, at_once(wire, ends), strict=True):
            answer.must_succeed()
            producer.ended(answer)
    for partition, written in sent.items():
        wire.await_settled(topic, partition)
        for isolation, counts in ((COMMITTED, True), (UNCOMMITTED, False)):
            read = wire.read_all(topic, partition, isolation=isolation)
            for number in range(PRODUCERS):
                wanted = [value for of, value, commits in written if of == number and (commits or not counts)]
                found = [value for value in read.values if value.startswith(b"%d " % number)]
                who = f"a read_{isolation} consumer of partition {partition}"
                said = f"{who} reads {len(found)} records of producer {number}"
                read.must(found == wanted, f"{said}; it must read {len(wanted)}, in the order sent")


@case(
    "transactions/ended-at-once",
    guarantees=["txn-010", "txn-001", "txn-002"],
    apis=TRANSACTIONS,
    needs=["partitions"],
    detects=["M18c"],
)
def of_two_ends_at_once_one_counts(wire, topic_of, transactional_id, rng):
    """Where a transaction is committed and aborted at the same moment, one outcome alone MUST be acknowledged, a
    read_committed consumer MUST read what it says, and the producer MUST be able to go on.

    Sixteen transactions over three partitions, each ended by two requests at once, of the same kind or not.
    """
    topic = topic_of(partitions=3)
    producer = wire.producer(transactional_id)
    wanted = []
    for turn in range(TURNS):
        for partition in range(3):
            producer.send(topic, f"{turn}", partition=partition).must_succeed()
        kinds = [rng.random() < 0.5 for _ in range(2)]
        asks = [
            partial(wire.end_txn, transactional_id, producer.id, producer.epoch, commit=commit, via=f"client {number}")
            for number, commit in enumerate(kinds)
        ]
        answers = at_once(wire, asks)
        took = [(commit, answer) for commit, answer in zip(kinds, answers, strict=True) if answer.error == 0]
        asked = " and ".join("commit" if each else "abort" for each in kinds)
        said = f"EndTxn asked for {asked} of one transaction at the same moment: {len(took)} of 2 were acknowledged"
        wire.must(len({commit for commit, _ in took}) == 1, said, *answers)
        for answer in answers:
            if answer.error:
                answer.must_be_refused(*ENDED)
        producer.ended(took[-1][1])
        wanted += [f"{turn}"] * took[0][0]
        for partition in range(3):
            wire.await_settled(topic, partition)
            wire.read_all(topic, partition, isolation=COMMITTED).must_hold(*wanted)


@case(
    "transactions/ids-asked-at-once",
    guarantees=["txn-007", "idem-001"],
    apis=TRANSACTIONS,
    detects=["N11"],
)
def many_ask_for_an_id_at_once(wire, topic, transactional_id):
    """When many producers ask for the same transactional id at the same moment, each MUST get an epoch of its own, and
    only the last of them MUST be able to write; producers without a transactional id MUST each get an id of their own.

    Six at a time, three times: an id that is new, one that is known, and one with a transaction that is open.
    """
    for _ in range(3):
        asks = [partial(wire.init_producer_id, transactional_id, via=f"client {number}") for number in range(CLIENTS)]
        answers = at_once(wire, asks)
        given = _each_its_own(wire, "id and epoch", [(one.producer_id, one.epoch) for one in answers], answers)
        *fenced, last = sorted(given)
        for producer_id, epoch in fenced:
            wire.add_partitions(transactional_id, producer_id, epoch, [(topic, 0)]).must_be_refused(*FENCED)
        wire.add_partitions(transactional_id, *last, [(topic, 0)]).must_succeed()
    nodes = wire.nodes * 4 * CLIENTS
    asks = [partial(wire.init_producer_id, via=f"client {n}", to=node) for n, node in enumerate(nodes[: 4 * CLIENTS])]
    answers = at_once(wire, asks)
    _each_its_own(wire, "id", [one.producer_id for one in answers], answers)


def _each_its_own(wire, what, found, answers):
    """What each answer gives; no two of them give the same."""
    given = dict[object, object]()
    for value, answer in zip(found, answers, strict=True):
        same = given.setdefault(value, answer)
        wire.must(same is answer, f"the producer {what} {value} is given twice", same, answer)
    return given
