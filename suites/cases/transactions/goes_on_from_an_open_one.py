"""InitProducerId that names the producer id and epoch it goes on from, while their transaction is open (KIP-360).

TransactionCoordinator.prepareInitProducerIdTransit fences and aborts an open transaction whatever epoch is named.
Before transaction.version 2 the epoch that was fenced is forgotten with that: who comes with it again is refused.
"""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED
from brokertrial.wire import errors

LONG_MS, WITHIN_S = 55_000, 20
WAYS = ("records", "several", "offsets", "added", "both")
REFUSED = (errors.INVALID_PRODUCER_EPOCH, errors.PRODUCER_FENCED)


@case(
    "transactions/goes-on-from-an-open-one",
    guarantees=["txn-007", "txn-001", "txn-002"],
    apis={"InitProducerId": 3, "AddPartitionsToTxn": 0, "EndTxn": 0, "TxnOffsetCommit": 0, "DescribeTransactions": 0},
    needs=["partitions"],
    detects=["B179"],
)
def an_open_transaction_is_aborted_whatever_is_named(wire, topic_of, rng):
    """InitProducerId of a transactional id whose transaction is open MUST be answered with CONCURRENT_TRANSACTIONS (51)
    and MUST abort that transaction long before its timeout, whether the request names no producer or the current id and
    epoch, in each version; with another id it MUST be refused and change nothing. Then the same request returns a newer
    epoch or is refused as fenced, one that names no producer MUST return a newer epoch, and what comes next MUST count.

    Ten transactional ids in a drawn order: each asks in both ways while its transaction holds records of one or of
    several partitions, offsets of a group, both, or a partition that was added and nothing more.
    """
    topic = topic_of(partitions=3)
    turns = [(way, named) for way in WAYS for named in (True, False)]
    wanted: dict[int, list[str]] = {0: [], 1: [], 2: []}
    for way, named in rng.sample(turns, len(turns)):
        what = f"{way}, {'with' if named else 'without'} id and epoch"
        producer, group = wire.producer(wire.name("x"), timeout_ms=LONG_MS), wire.name("g")
        if rng.random() < 0.5:
            producer.send(topic, f"{what}: before").must_succeed()
            producer.commit().must_succeed()
            wanted[0].append(f"{what}: before")
        _begun(producer, topic, group, way)
        version = rng.choice([version for version in wire.versions("InitProducerId") if version >= 3])
        _goes_on(wire, producer, what, version, named=named)
        producer.send(topic, f"{what}: after").must_succeed()
        producer.commit().must_succeed()
        wanted[0].append(f"{what}: after")
        wire.committed(group, topic).must_be(-1)
        for partition, values in wanted.items():
            wire.await_settled(topic, partition)
            wire.read_all(topic, partition, isolation=COMMITTED).must_hold(*values)


def _begun(producer, topic, group, way):
    """Its transaction is open, and holds what is to be aborted."""
    for partition in {"records": (0,), "several": (0, 1, 2), "both": (2,)}.get(way, ()):
        producer.send(topic, f"aborted {way}", partition=partition).must_succeed()
    if way in ("offsets", "both"):
        producer.send_offsets(group, {(topic, 0): 5}).must_succeed()
    if way == "added":
        producer.add(topic, 1).must_succeed()


def _goes_on(wire, producer, what, version, *, named):
    """First another id, then as it is to be, until the transaction is over; then anew."""
    id_, had = producer.transactional_id, (producer.id, producer.epoch)

    def asked(producer_id, epoch):
        return wire.init_producer_id(
            id_, timeout_ms=LONG_MS, producer_id=producer_id, epoch=epoch, version=version, retry=False
        )

    asked(had[0] + 1_000_000, had[1]).must_be_refused(*REFUSED)
    _must_be(wire, id_, what, "Ongoing")
    names = had if named else (-1, -1)
    asked(*names).must_be_refused(errors.CONCURRENT_TRANSACTIONS)

    def answered():
        answer = asked(*names)
        expected = (0, *REFUSED) if named else (0,)
        code = answer.error
        answer.must(
            code in expected, f"{what}: it is answered {errors.name(code)} as long as it is asked", "error_code"
        )
        if not code:
            newer = answer.producer_id != had[0] or answer.epoch > had[1]
            answer.must(newer, f"{what}: its epoch is {answer.epoch}, and was {had[1]}", "producer_epoch")

    wire.eventually(answered, within=WITHIN_S)
    _must_be(wire, id_, what, "Empty", "CompleteAbort")
    before = wire.describe_transaction(id_).struct.transaction_states[0]
    producer.start()
    newer = producer.id != before.producer_id or producer.epoch > before.producer_epoch
    wire.must(newer, f"{what}: begun anew its epoch is {producer.epoch}; it was {before.producer_epoch}")


def _must_be(wire, transactional_id, what, *states):
    answer = wire.describe_transaction(transactional_id).must_succeed()
    found = answer.struct.transaction_states[0].transaction_state
    wanted = " or ".join(states)
    answer.must(
        found in states, f"{what}: it is {found}; it must be {wanted}", "transaction_states[0].transaction_state"
    )
