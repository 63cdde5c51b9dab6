"""Offsets that come outside any transaction that would ever end them (KIP-890), and what a group can read meanwhile."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.wire import errors

VERIFICATION = "transaction.partition.verification.enable"
ADDED_FIRST = 4  # the last TxnOffsetCommit that adds no offsets by itself
WITHIN_S = 10
REFUSED = (errors.INVALID_TXN_STATE, errors.TRANSACTION_ABORTABLE)
TAKEN = edit_answer("topics[].partitions[].error_code", set=0, api="TxnOffsetCommit")


@case(
    "transactions/offsets-not-added",
    guarantees=["txn-020", "txn-012"],
    apis={"AddOffsetsToTxn": 0, "AddPartitionsToTxn": 0, "EndTxn": 0, "TxnOffsetCommit": 0, "OffsetFetch": 7},
    since="3.6 (KIP-890)",
    detects=["K18", TAKEN],
)
def offsets_outside_any_transaction_are_refused(wire, topic, transactional_id):
    """TxnOffsetCommit up to v4 of a group that was not added to the transaction MUST be refused (48 or 120): before a
    producer's first transaction, while it holds other partitions only, and after each end. What the group has committed
    MUST stay in force all the while, also for a request for stable offsets.

    Offsets that no transaction ends would stay unstable, and a consumer that takes the partition over would wait for
    ever. Each is sent once the markers of the end are written: Apache Kafka 3.9 drops with a stray what waits for them.
    """
    if wire.setting(VERIFICATION) == "false":
        wire.not_applicable(f"{VERIFICATION} is false on this cluster", "refused-by-settings")
    producer, group = wire.producer(transactional_id), wire.name("group")
    versions = [version for version in wire.versions("TxnOffsetCommit") if version <= ADDED_FIRST]

    def must_be_refused(when, committed):
        fetched = wire.committed
        wire.eventually(lambda: fetched(group, topic, require_stable=True).must_be(committed), within=WITHIN_S)
        with wire.part(when):
            for version in sorted({versions[0], versions[-1]}):
                ids = (producer.transactional_id, producer.id, producer.epoch)
                stray = wire.txn_offset_commit(*ids, group, {(topic, 0): 90 + version}, version=version)
                stray.must_be_refused(*REFUSED)
            wire.eventually(lambda: fetched(group, topic, require_stable=True).must_be(committed), within=WITHIN_S)

    must_be_refused("before the first transaction", -1)
    wire.commit(group, topic, offset=1).must_succeed()
    must_be_refused("before the first transaction, over a plain commit", 1)
    producer.send(topic, "a")
    must_be_refused("while a transaction holds other partitions", 1)
    producer.abort().must_succeed()
    must_be_refused("after a transaction without offsets", 1)
    for commit, offset in ((True, 5), (False, 6)):
        _staged(wire, producer, group, {(topic, 0): offset})
        (producer.commit if commit else producer.abort)().must_succeed()
        must_be_refused(f"after a transaction with offsets, {'committed' if commit else 'aborted'}", 5)


def _staged(wire, producer, group, offsets):
    """Offsets that are added first, as every version of the protocol may."""
    wire.add_offsets(producer.transactional_id, producer.id, producer.epoch, group).must_succeed()
    ids = (producer.transactional_id, producer.id, producer.epoch)
    wire.txn_offset_commit(
        *ids, group, offsets, version=min(ADDED_FIRST, max(wire.versions("TxnOffsetCommit")))
    ).must_succeed()
