"""Hundreds of transactions that are open in one partition at a time, and end in any order."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED

PRODUCERS, ROUNDS, LOOKS_EACH, READERS, WITHIN_S = 120, 2, 20, 20, 30


@case(
    "transactions/hundreds-in-one-partition",
    guarantees=["txn-001", "txn-002", "offs-001"],
    apis={"AddPartitionsToTxn": 0, "EndTxn": 0, "Fetch": 4, "ListOffsets": 2},
    detects=["B284"],
)
def each_is_whole_among_hundreds(wire, topic, rng):
    """However many transactions are open in a partition at a time, and in whichever order they end, a reader of
    committed records MUST be given each record of those that were committed and none of the others, from wherever it
    begins, and the last stable offset MUST be where the first of the open ones begins.

    120 producers send a record each and then end, one after the other, in drawn orders; twice. Every other one commits,
    by draw. Readers begin at 20 drawn offsets.
    """
    producers = [wire.producer(wire.name(f"x{number}"), timeout_ms=600_000) for number in range(PRODUCERS)]
    committed: dict[int, bytes] = {}
    for turn in range(ROUNDS):
        opened = {}
        for producer in rng.sample(producers, PRODUCERS):
            value = f"{turn} {producer.transactional_id}"
            opened[producer] = producer.send(topic, value).offset, value.encode()
        committed |= _ended(wire, topic, rng, opened)
        wire.await_settled(topic)
    for at in (0, *rng.sample(range(wire.log_end(topic)), READERS)):
        _must_be_read(wire, topic, at, {offset: value for offset, value in committed.items() if offset >= at})


def _ended(wire, topic, rng, opened):
    """Those that are committed, by offset."""
    committed = {}
    for number, producer in enumerate(rng.sample(list(opened), PRODUCERS)):
        offset, value = opened.pop(producer)
        if rng.random() < 0.5:
            producer.commit().must_succeed()
            committed[offset] = value
        else:
            producer.abort().must_succeed()
        if opened and number % LOOKS_EACH == 0:
            first = min(offset for offset, _ in opened.values())
            wire.until(
                lambda first=first: wire.log_end(topic, isolation=COMMITTED) == first,
                within=WITHIN_S,
                what=f"the last stable offset is {first}, where the first of {len(opened)} open transactions begins",
            )
    return committed


def _must_be_read(wire, topic, at, due):
    read = wire.read_all(topic, offset=at, isolation=COMMITTED)
    found = {record.offset: record.value for record in read.records}
    lost = [value.decode() for offset, value in due.items() if offset not in found]
    read.must(not lost, f"from {at} on {len(lost)} committed records are missing, such as {', '.join(lost[:2])}")
    aborted = [value.decode() for offset, value in found.items() if offset not in due]
    read.must(
        not aborted, f"from {at} on {len(aborted)} aborted records are returned, such as {', '.join(aborted[:2])}"
    )
    read.must(found == due, f"from {at} on the records are others than those that were committed")
