"""Transaction markers in the log (KIP-98)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED

TRANSACTIONS = {"AddPartitionsToTxn": 0, "EndTxn": 0}


@case(
    "transactions/markers",
    guarantee="txn-006",
    apis=TRANSACTIONS,
    detects=["M15a", "M15b"],
)
def a_marker_takes_one_offset_and_says_how_it_ended(wire, topic, transactional_id):
    """Each end of a transaction MUST write one marker to the log, which takes one offset, holds COMMIT or ABORT for the
    producer, counts for the end of the log and is not a record for readers.
    """
    producer = wire.producer(transactional_id)
    producer.send(topic, "a", "b").must_be_at(0)
    producer.commit().must_succeed()
    wire.eventually(lambda: wire.list_offsets(topic, isolation=COMMITTED).must_name(offset=3), within=10)
    producer.send(topic, "c").must_be_at(3)
    producer.abort().must_succeed()
    wire.eventually(lambda: wire.list_offsets(topic, isolation=COMMITTED).must_name(offset=5), within=10)
    wire.list_offsets(topic).must_name(offset=5)

    log = wire.read_all(topic).must_have_offsets([0, 1, 3])
    markers = [part for part in log.batches if part.header.is_control]
    said = [(part.header.base_offset, part.header.producer_id, part.marker().kind) for part in markers]
    log.must(
        said == [(2, producer.id, "COMMIT"), (4, producer.id, "ABORT")],
        f"the markers (offset, producer id, kind) are {said}; they must be COMMIT at 2 and ABORT at 4 of {producer.id}",
    )
    layouts = [[(record.key, (record.value or b"")[:2]) for record in part.records()] for part in markers]
    log.must(
        layouts == [[(b"\0\0\0\1", b"\0\0")], [(b"\0\0\0\0", b"\0\0")]],
        f"keys and versions of the markers are {layouts}; they must be of version 0, type 1 (COMMIT) and 0 (ABORT)",
    )
