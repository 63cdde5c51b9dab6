"""EndTxn: said again, said otherwise, and what may follow at once (KIP-98, KIP-890)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED, batch
from brokertrial.wire import errors

TRANSACTIONS = {"AddPartitionsToTxn": 0, "EndTxn": 0}
BUMPS_SINCE, IMPLICIT_SINCE = 5, 12
"""Of EndTxn, whose answer has the next epoch; of Produce, which adds its partitions (KIP-890)."""


@case("transactions/end-again", guarantee="txn-010", apis=TRANSACTIONS, smoke=True, detects=["M18c"])
def the_same_end_again_succeeds_the_opposite_is_refused(wire, topic, transactional_id):
    """EndTxn repeated with the same outcome, as after a lost answer, MUST succeed; with the opposite outcome it MUST
    be refused, and the first one stays in force.
    """
    for outcome, value in ((True, "committed"), (False, "aborted")):
        producer = wire.producer(transactional_id)
        producer.send(topic, value)
        said = {"producer_id": producer.id, "epoch": producer.epoch}
        for _ in range(2):
            wire.end_txn(transactional_id, **said, commit=outcome).must_succeed()
        wire.end_txn(transactional_id, **said, commit=not outcome).must_be_refused(
            errors.INVALID_TXN_STATE, errors.INVALID_PRODUCER_EPOCH, errors.PRODUCER_FENCED
        )
    wire.await_settled(topic)
    wire.read_all(topic, isolation=COMMITTED).must_hold("committed")


@case(
    "transactions/end-again-in-every-version",
    guarantees=["txn-010", "txn-001"],
    apis={**TRANSACTIONS, "Produce": 3},
    detects=["Z50"],
)
def every_version_may_end_again(wire, topic):
    """In every version of EndTxn an end that is repeated, as after a lost answer, MUST succeed with the same answer,
    also once the markers are written, and its opposite MUST be refused as an invalid state (48); the next transaction
    of that producer MUST be decided as it is ended.
    """
    committed = []
    for version in wire.versions("EndTxn"):
        for commit in (True, False):
            with wire.part(f"v{version}, {'commit' if commit else 'abort'}"):
                name = wire.name("x")
                answer = wire.init_producer_id(name).must_succeed()
                first = (name, answer.producer_id, answer.epoch)
                following = _ended_twice(wire, topic, first, commit, version)
                committed += [f"v{version} {commit}"] * commit
                sequence = 0 if version >= BUMPS_SINCE else 1
                _write(wire, topic, (name, *following), f"v{version} after {commit}", sequence)
                wire.end_txn(name, *following, commit=True, version=version).must_succeed()
                committed.append(f"v{version} after {commit}")
            wire.await_settled(topic)
    wire.read_all(topic, isolation=COMMITTED).must_hold(*committed)


def _ended_twice(wire, topic, who, commit, version):
    """The id and epoch that the producer goes on with."""
    _write(wire, topic, who, f"v{version} {commit}")
    ended = []
    for _ in range(3):
        answer = wire.end_txn(*who, commit=commit, version=version).must_succeed()
        ended.append((answer.producer_id, answer.epoch))
        wire.await_settled(topic)
        answer.must(ended[-1] == ended[0], f"repeated, it is answered with {ended[-1]}, not {ended[0]}")
    wire.end_txn(*who, commit=not commit, version=version).must_be_refused(errors.INVALID_TXN_STATE)
    return ended[0] if version >= BUMPS_SINCE else who[1:]


def _write(wire, topic, who, value, sequence=0):
    """One record, as clients of before KIP-890 write it."""
    name, producer_id, epoch = who
    wire.add_partitions(*who, [(topic, 0)]).must_succeed()
    made = batch(value, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, transactional=True)
    wire.produce(topic, made, transactional_id=name, version=min(IMPLICIT_SINCE - 1, wire.versions("Produce")[-1]))


@case(
    "transactions/next-while-completing",
    guarantee="txn-023",
    apis=TRANSACTIONS,
    detects=[
        edit_answer("responses[].partition_responses[].error_code", set=errors.INVALID_TXN_STATE, api="Produce", skip=2)
    ],
)
def the_next_transaction_may_have_to_wait_but_is_never_lost(wire, topic, transactional_id):
    """A transaction that begins while the one before is still being completed MUST be accepted or refused with a
    retriable code (51, or another code that clients retry), never refused for good, and none MUST be lost.

    The probe tries again on the codes on which clients do; any other is a failure.
    """
    producer = wire.producer(transactional_id)
    values = [f"v{number}" for number in range(5)]
    for value in values:
        producer.send(topic, value).must_succeed()
        producer.commit().must_succeed()
    wire.await_settled(topic)
    wire.read_all(topic, isolation=COMMITTED).must_hold(*values)
