"""Three transactions at a time, over several partitions of several topics (KIP-98)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED
from brokertrial.wire import errors

TRANSACTIONS = {"AddPartitionsToTxn": 0, "EndTxn": 0}
WITHIN_S = 10
FENCED = (errors.INVALID_PRODUCER_EPOCH, errors.PRODUCER_FENCED)
LATEST = "topics[].partitions[].offset"


@case(
    "transactions/three-interleaved", guarantees=["txn-004", "txn-002", "txn-001"], apis=TRANSACTIONS, detects=["M17"]
)
def the_stable_offset_goes_from_the_oldest_to_the_next(wire, topic, transactional_id):
    """While several transactions are open in a partition, the last stable offset MUST stay at the oldest of them,
    whichever others end, and then MUST go to the next that is open, not to the end.

    Of three, the youngest commits first, then the oldest aborts, then the middle one commits.
    """
    a, b, c = (wire.producer(transactional_id if name == "a" else wire.name(name)) for name in "abc")
    for offset, (producer, value) in enumerate([(a, "a1"), (b, "b1"), (c, "c1"), (a, "a2"), (b, "b2")]):
        producer.send(topic, value).must_be_at(offset)
    _must_be_stable_up_to(wire, topic, 0)
    c.commit().must_succeed()
    wire.eventually(lambda: wire.list_offsets(topic).must_name(offset=6), within=WITHIN_S)
    _must_be_stable_up_to(wire, topic, 0)
    wire.fetch(topic, isolation=COMMITTED).must_be_empty()
    a.abort().must_succeed()
    wire.eventually(lambda: _must_be_stable_up_to(wire, topic, 1), within=WITHIN_S)
    wire.list_offsets(topic).must_name(offset=7)
    b.commit().must_succeed()
    wire.eventually(lambda: _must_be_stable_up_to(wire, topic, 8), within=WITHIN_S)
    wire.read_all(topic, isolation=COMMITTED).must_hold("b1", "c1", "b2")
    wire.read_all(topic).must_have_offsets(range(5))


@case(
    "transactions/no-markers-elsewhere",
    guarantees=["txn-006", "txn-014"],
    apis=TRANSACTIONS,
    needs=["partitions"],
    detects=["M18a", edit_answer(LATEST, add=1, api="ListOffsets", skip=9)],
)
def the_partitions_of_a_transaction_are_its_own(wire, topic_of, transactional_id):
    """The end of a transaction MUST put one marker into each partition that it wrote to and none into any other, also
    not into those of the transaction before.

    The first writes to three partitions of two topics, the second to one of them, the third to one that is new.
    """
    topic, other = topic_of(partitions=3), topic_of(what="other")
    producer = wire.producer(transactional_id)
    ends = {(topic, 0): 0, (topic, 1): 0, (topic, 2): 0, (other, 0): 0}
    for places, commit in (
        ([(topic, 0), (topic, 2), (other, 0)], True),
        ([(topic, 2)], False),
        ([(topic, 1)], True),
    ):
        for name, partition in places:
            producer.send(name, "a record", partition=partition).must_be_at(ends[name, partition])
            ends[name, partition] += 2
        (producer.commit if commit else producer.abort)().must_succeed()
        wire.eventually(lambda: _must_all_end(wire, ends), within=WITHIN_S)
    for place, count in {(topic, 0): 1, (topic, 1): 1, (topic, 2): 1, (other, 0): 1}.items():
        wire.read_all(*place, isolation=COMMITTED).must_hold(*["a record"] * count)


@case(
    "transactions/started-over",
    guarantees=["txn-007", "txn-012"],
    apis={**TRANSACTIONS, "TxnOffsetCommit": 0, "AddOffsetsToTxn": 0, "OffsetFetch": 7},
    needs=["partitions"],
    detects=["M13b"],
)
def a_new_start_aborts_all_that_was_open(wire, topic_of, group, transactional_id):
    """InitProducerId while a transaction is open MUST abort all of it: the records in each partition of each topic and
    the offsets of the group; and what the new instance does MUST be decided by its own end alone.
    """
    topic, other = topic_of(partitions=2), topic_of(what="other")
    wire.commit_all(group, {(topic, 0): 1, (other, 0): 1}).must_succeed()
    older = wire.producer(transactional_id)
    for place in ((topic, 0), (topic, 1), (other, 0)):
        older.send(place[0], "older", partition=place[1]).must_be_at(0)
    older.send_offsets(group, {(topic, 0): 5, (other, 0): 6}).must_succeed()

    newer = wire.producer(transactional_id)
    for place in ((topic, 0), (topic, 1), (other, 0)):
        wire.await_settled(*place)
        wire.read_all(*place, isolation=COMMITTED).must_hold()
    for name in (topic, other):
        wire.eventually(lambda name=name: wire.committed(group, name, require_stable=True).must_be(1), within=WITHIN_S)

    newer.send(topic, "newer", partition=1).must_be_at(2)
    newer.send_offsets(group, {(other, 0): 7}).must_succeed()
    older.commit().must_be_refused(*FENCED)
    wire.list_offsets(topic, 1, isolation=COMMITTED).must_name(offset=2)
    newer.commit().must_succeed()
    wire.await_settled(topic, 1)
    wire.read_all(topic, 1, isolation=COMMITTED).must_hold("newer")
    wire.eventually(lambda: wire.committed(group, other, require_stable=True).must_be(7), within=WITHIN_S)
    wire.committed(group, topic).must_be(1)


def _must_be_stable_up_to(wire, topic, offset):
    wire.list_offsets(topic, isolation=COMMITTED).must_name(offset=offset)
    fetched = wire.fetch(topic, offset=offset, isolation=COMMITTED, max_wait_ms=0)
    fetched.must_have(f"{fetched.row}.last_stable_offset", offset)


def _must_all_end(wire, ends):
    """Each partition ends there, open transactions or not: all markers are there, and no more."""
    for (topic, partition), end in ends.items():
        wire.list_offsets(topic, partition, isolation=COMMITTED).must_name(offset=end)
        wire.list_offsets(topic, partition).must_name(offset=end)
