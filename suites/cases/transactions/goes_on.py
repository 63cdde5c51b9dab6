"""Producers that go on after their transactions were aborted for their timeout (KIP-360, KIP-890).

Before transaction.version 2 a coordinator that ends a transaction for its time keeps no earlier epoch
(TransactionMetadata.prepareFenceProducerEpoch): whoever comes with it is fenced.
"""

from brokertrial.suites.case import case
from brokertrial.suites.cases.transactions.expired import CLEAN_UP
from brokertrial.suites.probe import COMMITTED
from brokertrial.wire import errors

PRODUCERS, ROUNDS, TIMEOUT_MS, ENOUGH_MS, WITHIN_S = 3, 3, 1_500, 60_000, 20
FENCED = {3: errors.INVALID_PRODUCER_EPOCH, 4: errors.PRODUCER_FENCED, 5: errors.PRODUCER_FENCED}


@case(
    "transactions/goes-on-after-its-timeout",
    guarantees=["txn-008", "txn-007", "txn-002"],
    apis={"InitProducerId": 3, "EndTxn": 5},
    features={"transaction.version": 2},
    since="4.0 (KIP-890)",
    detects=["Z09"],
)
def a_producer_that_was_too_slow_may_go_on(wire, topic, rng):
    """A producer whose transaction was aborted because it was open for too long MUST get a newer epoch of its id when
    it sends its id and its last epoch, the same again when it repeats that, and its next transaction MUST count; an
    older epoch or another id MUST be refused (90, in version 3 of the request 47).

    Three producers, one after the other in one partition, three times; some begin anew instead.
    """
    wire.needs_setting(CLEAN_UP, at_most=10_000)
    producers = [wire.producer(wire.name("x"), timeout_ms=TIMEOUT_MS) for _ in range(PRODUCERS)]
    wanted = []
    for turn in range(ROUNDS):
        for number, producer in enumerate(producers):
            producer.timeout_ms = TIMEOUT_MS
            if turn:
                producer.start()
            producer.send(topic, f"{turn} {number} abandoned").must_succeed()
        wire.await_settled(topic, within=WITHIN_S)
        for number, producer in enumerate(rng.sample(producers, PRODUCERS)):
            _goes_on(wire, rng, producer, anew=number == turn)
            producer.send(topic, f"{turn} {number} whole").must_succeed()
            commit = rng.random() < 0.7
            (producer.commit() if commit else producer.abort()).must_succeed()
            wanted += [f"{turn} {number} whole"] if commit else []
            wire.await_settled(topic, within=WITHIN_S)
    wire.read_all(topic, isolation=COMMITTED).must_hold(*wanted)


def _goes_on(wire, rng, producer, *, anew):
    """From the epoch that it had when it was too slow."""
    producer.timeout_ms, had = ENOUGH_MS, (producer.id, producer.epoch)
    if anew:
        producer.start().must_have("producer_id", had[0])
        return
    versions = [version for version in wire.versions("InitProducerId") if version in FENCED]
    others = [(had[0] + 1_000_000, had[1]), (had[0], had[1] + 7), *([(had[0], had[1] - 1)] if had[1] > 0 else [])]
    for id_, epoch in rng.sample(others, rng.randint(0, len(others))):
        version = rng.choice(versions)
        refused = wire.init_producer_id(
            producer.transactional_id, timeout_ms=ENOUGH_MS, producer_id=id_, epoch=epoch, version=version
        )
        refused.must_be_refused(FENCED[version])
    answer = producer.go_on(version=rng.choice(versions))
    answer.must_have("producer_id", had[0])
    answer.must(producer.epoch > had[1], f"its epoch was {had[1]}, and is {producer.epoch}", "producer_epoch")
    again = wire.init_producer_id(
        producer.transactional_id,
        timeout_ms=ENOUGH_MS,
        producer_id=had[0],
        epoch=had[1],
        version=rng.choice(versions),
    )
    again.must_have("producer_id", producer.id).must_have("producer_epoch", producer.epoch)
