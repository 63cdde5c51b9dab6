"""Transactions in the versions of other times: what they decide is the same (KIP-98)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED, batch

USED = ("InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn", "Produce")
OLDEST = dict.fromkeys(USED[:5], 0) | {"Produce": 3}
NEWEST = {"InitProducerId": 4, "AddPartitionsToTxn": 3, "AddOffsetsToTxn": 3, "TxnOffsetCommit": 3, "EndTxn": 3}
WITHIN_S = 10


@case(
    "transactions/in-old-versions",
    guarantees=["txn-001", "txn-002", "txn-012"],
    apis={**OLDEST, "OffsetFetch": 7},
    needs=["partitions"],
    detects=["M15b", edit_answer("error_code", set=48, api="EndTxn", fields={"committed": True})],
)
def a_transaction_is_the_same_in_every_version(wire, topic_of, group, transactional_id):
    """A transaction whose every request is of the oldest version that the broker offers, or of one in between, MUST be
    as any other: its commit brings the records in all its partitions and the offsets of the group, its abort none.
    """
    topic, other = topic_of(partitions=2), topic_of(what="other")
    places = [(topic, 0), (topic, 1), (other, 0)]
    oldest = {api: wire.versions(api)[0] for api in USED}
    between = {api: min(newest, wire.versions(api)[-1]) for api, newest in {**NEWEST, "Produce": 8}.items()}
    held: list[str] = []
    for number, versions in enumerate((oldest, between)):
        name = transactional_id if number == 0 else wire.name("x")
        identity = wire.init_producer_id(name, version=versions["InitProducerId"])
        who = (name, identity.producer_id, identity.epoch)
        for sequence, commit in enumerate((True, False, True)):
            value = f"{number} {sequence} {commit}"
            wire.add_partitions(*who, places, version=versions["AddPartitionsToTxn"]).must_succeed()
            for place in places:
                made = batch(
                    value,
                    producer_id=who[1],
                    producer_epoch=who[2],
                    base_sequence=sequence,
                    transactional=True,
                )
                wire.produce(place[0], made, place[1], transactional_id=name, version=versions["Produce"])
            wire.add_offsets(*who, group, version=versions["AddOffsetsToTxn"]).must_succeed()
            offsets = {(topic, 1): 10 * number + sequence}
            staged = wire.txn_offset_commit(*who, group, offsets, version=versions["TxnOffsetCommit"])
            staged.must_succeed()
            wire.end_txn(*who, commit=commit, version=versions["EndTxn"]).must_succeed()
            held += [value] if commit else []
            for place in places:
                wire.await_settled(*place)
                wire.read_all(*place, isolation=COMMITTED).must_hold(*held)
            wanted = 10 * number + (sequence if commit else sequence - 1)
            wire.eventually(
                lambda wanted=wanted: wire.committed(group, topic, 1, require_stable=True).must_be(wanted),
                within=WITHIN_S,
            )
