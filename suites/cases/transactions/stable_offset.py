"""The last stable offset: how far read_committed may read (KIP-98)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED, batch

TRANSACTIONS = {"AddPartitionsToTxn": 0, "EndTxn": 0}


@case("transactions/last-stable-offset", guarantee="txn-004", apis=TRANSACTIONS, detects=["M17", "M15a"])
def the_stable_offset_is_where_the_oldest_open_transaction_began(wire, topic, transactional_id):
    """The last stable offset MUST be the first offset of the oldest open transaction, and a read_committed fetch
    MUST return nothing at or past it; without open transactions it MUST be the high watermark.

    Two transactions overlap and plain records follow; the older one commits, then the younger one aborts.
    """
    older, younger = wire.producer(transactional_id), wire.producer(wire.name("x"))
    wire.produce(topic, batch("before"))
    began = older.send(topic, "older").offset
    later = younger.send(topic, "younger").offset
    wire.produce(topic, batch("after"))
    _must_end_at(wire, topic, began)

    older.commit().must_succeed()
    wire.eventually(lambda: _must_end_at(wire, topic, later), within=10)

    younger.abort().must_succeed()
    wire.await_settled(topic)
    _must_end_at(wire, topic, wire.log_end(topic))


def _must_end_at(wire, topic, stable):
    """Both ListOffsets and Fetch say so, and no batch of the fetch reaches past it."""
    wire.list_offsets(topic, isolation=COMMITTED).must_name(offset=stable)
    fetched = wire.fetch(topic, isolation=COMMITTED)
    fetched.must_have(f"{fetched.row}.last_stable_offset", stable)
    fetched.must(
        all(part.header.last_offset < stable for part in fetched.batches),
        f"it holds records at or past {stable}, where an open transaction began",
        f"{fetched.row}.records",
    )
