"""A producer id whose epochs are used up: the transactional id goes on with a new one (KIP-98, KIP-360, KIP-890)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.transactions._last_epoch import FENCED, LAST_EPOCH, use_up
from brokertrial.suites.probe import COMMITTED


@case(
    "transactions/epochs-used-up",
    guarantees=["txn-007", "txn-029", "txn-001", "txn-002"],
    apis={"InitProducerId": 3, "AddPartitionsToTxn": 0, "EndTxn": 0, "DescribeTransactions": 0},
    detects=["C12", "C13", "Z49"],
)
def a_used_up_producer_id_is_replaced(wire, topic, transactional_id, rng):
    """InitProducerId MUST return one epoch after the other up to 32766; then the transactional id MUST go on with
    another producer id, whose epochs begin anew, however it gets there: asked without an id, from the last epoch
    (repeated with the same answer), past a transaction that is ended in the last epoch, or past one that is fenced
    in it. What was written in the last epoch MUST be decided as it was ended, and the old id MUST be refused from then
    on.

    Two ids are used up: a transaction is committed or aborted in the last epoch of one; that of the other is fenced, or
    there is none. Where each of 32,766 requests is replicated, one of both.
    """
    producer = wire.producer(transactional_id)
    committed: list[str] = []
    ways = [rng.choice(("committed", "aborted")), rng.choice(("fenced", "idle"))]
    for how in ways if len(wire.nodes) == 1 else [rng.choice(ways)]:
        committed += _is_replaced(wire, topic, producer, how, rng)
        wire.read_all(topic, isolation=COMMITTED).must_hold(*committed)


def _is_replaced(wire, topic, producer, how, rng):
    """The values that are committed on the way."""
    first, transactional_id = producer.id, producer.transactional_id
    use_up(wire, producer)
    if how != "idle":
        producer.send(topic, f"in the last epoch, {how}").must_succeed()
    if how == "idle":
        _goes_on(wire, producer, transactional_id, rng)
    elif how == "fenced":
        producer.start()
    else:
        (producer.commit if how == "committed" else producer.abort)().must_succeed()
        wire.await_settled(topic)
        if producer.epoch == LAST_EPOCH:
            _goes_on(wire, producer, transactional_id, rng)
    # An abort that fences may come to the new id by itself; the answer is then its next epoch.
    allowed = (0, 1) if how == "fenced" else (0,)
    wire.must(
        producer.id != first and producer.epoch in allowed,
        f"{first} is used up, its transaction {how}: the next is {producer.id} with epoch {producer.epoch}",
    )
    for version in (version for version in wire.versions("EndTxn") if version <= 4):
        late = wire.end_txn(transactional_id, first, LAST_EPOCH, commit=True, version=version)
        late.must_be_refused(*FENCED)
    wire.add_partitions(transactional_id, first, LAST_EPOCH, [(topic, 0)]).must_be_refused(*FENCED)
    wire.await_settled(topic)
    end = wire.log_end(topic)
    producer.send(topic, f"by the next id, {how}").must_be_at(end)
    row = wire.describe_transaction(transactional_id).must_succeed()
    row.must_have("transaction_states[0].producer_id", producer.id).must_have(
        "transaction_states[0].producer_epoch", producer.epoch
    )
    producer.commit().must_succeed()
    wire.await_settled(topic)
    return [f"{where}, {how}" for where in ["in the last epoch"] * (how == "committed") + ["by the next id"]]


def _goes_on(wire, producer, transactional_id, rng):
    """From nothing, or from the last epoch; the same request repeated is answered the same."""
    before = {"producer_id": producer.id, "epoch": LAST_EPOCH}
    if rng.random() < 0.5:
        producer.start()
        return
    answers = [wire.init_producer_id(transactional_id, **before) for _ in range(2)]
    found = [(each.producer_id, each.epoch) for each in answers]
    wire.must(found[0] == found[1], f"asked twice to go on from the last epoch it gives {found}", *answers)
    producer.id, producer.epoch = found[0]
    producer.sequences.clear()
