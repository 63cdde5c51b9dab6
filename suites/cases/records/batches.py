"""Batches that are not what they say they are."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.records import Record

WRONG = (errors.INVALID_RECORD, errors.CORRUPT_MESSAGE)


@case(
    "records/checksums",
    guarantee="rec-005",
    apis={"Metadata": 7},
    detects=[
        edit_answer("responses[].partitions[].records[0].leader_epoch", set=77, api="Fetch"),
    ],
)
def stored_batches_carry_checksum_and_epoch(wire, topic):
    """Every stored batch MUST carry the CRC-32C of its bytes, and the epoch of the leader that appended it.

    The epoch lies outside the checksum: producers do not know it and send -1.
    """
    for number, codec in enumerate(("none", "gzip", "lz4")):
        wire.produce(topic, batch("a", "b", compression=codec, leader_epoch=-1)).must_be_at(2 * number)
    epoch = wire.leader_epoch(topic)
    log = wire.read_all(topic)
    log.must(len(log.batches) == 3, f"3 batches were produced and {len(log.batches)} are read")
    for part in log.batches:
        where, stored = f"the batch at offset {part.header.base_offset}", part.header.leader_epoch
        with wire.part(where):
            log.must(part.crc_ok(), f"{where} has a checksum that does not hold")
        with wire.part(where):
            log.must(stored == epoch, f"{where} has the leader epoch {stored}; Metadata says {epoch}")


@case("records/wrong-checksum", guarantee="rec-006", detects=["M31"])
def a_changed_byte_is_noticed(wire, topic):
    """A batch whose bytes do not fit its checksum MUST be refused and never stored, whichever byte was changed."""
    plain, packed = batch("value", key=b"key"), batch("value" * 30, compression="gzip")
    places = {"checksum": 17, "attributes": 22, "time": 34, "producer id": 50, "count": 60, "value": len(plain) - 3}
    for what, place in places.items():
        with wire.part(what):
            wire.produce(topic, _changed(plain, place), via=what, wait=False).must_be_refused(*WRONG)
    with wire.part("compressed"):
        wire.produce(topic, _changed(packed, len(packed) - 9)).must_be_refused(*WRONG)
    wire.produce(topic, plain).must_be_at(0)
    wire.read_all(topic).must_hold("value")


@case("records/counts-that-disagree", guarantee="rec-007", detects=["M31c"])
def a_batch_that_contradicts_itself_is_refused(wire, topic):
    """A batch whose record count, offsets or lengths contradict each other MUST be refused and append nothing.

    Each has a checksum that holds: only the contents are wrong.
    """
    two = [Record(None, b"a"), Record(None, b"b")]
    good = batch("a", "b")
    wrong = {
        "no records": batch(records=two, record_count=0),
        "a count of -1": batch(records=two, record_count=-1),
        "a count that is too high": batch(records=two, record_count=3),
        "a last offset beyond the count": batch(records=two, last_offset_delta=5),
        "a last offset below the count": batch(records=two, last_offset_delta=0),
        "a last offset of -1": batch(records=two, last_offset_delta=-1),
        "a record that is cut off": batch(records=two, payload=good[61:-1]),
    }
    node = wire.leader(topic)
    asked = {what: wire.produce(topic, content, to=node, via="wrong", wait=False) for what, content in wrong.items()}
    for what, answer in asked.items():
        with wire.part(what):
            answer.must_be_refused(*WRONG)
    endless = batch(records=two, payload=b"\xff" * 20)  # a length without an end: Kafka calls that an unknown error
    with wire.part("a record without an end"):
        wire.produce(topic, endless).must_be_refused(*WRONG, errors.UNKNOWN_SERVER_ERROR)
    wire.produce(topic, good).must_be_at(0)
    wire.read_all(topic).must_hold("a", "b")


@case("records/control-batches", guarantee="rec-008", detects=["M31d"])
def control_batches_are_not_for_clients(wire, topic):
    """A control batch from a client MUST be refused: it would end transactions that are not the client's."""
    marker = Record(b"\x00\x00\x00\x01", b"\x00\x00\x00\x00\x00\x00")
    plain = batch(records=[marker], control=True)
    named = batch(records=[marker], control=True, producer_id=7, producer_epoch=0, base_sequence=0)
    with wire.part("of no producer"):
        wire.produce(topic, plain).must_be_refused(*WRONG)
    with wire.part("of a producer"):
        wire.produce(topic, named).must_be_refused(*WRONG)
    wire.list_offsets(topic, at="latest").must_name(offset=0)


def _changed(made, place):
    return made[:place] + bytes([made[place] ^ 1]) + made[place + 1 :]
