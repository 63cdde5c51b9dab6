"""Compressed batches of many transactions at the same moment, each on its own connection."""

from functools import partial

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED
from brokertrial.suites.probe.at_once import at_once
from brokertrial.wire.records import Record

PRODUCERS, PARTITIONS, TURNS = 16, 30, 44
CODECS = ("zstd", "gzip", "lz4", "snappy")
PATIENT_MS = 60_000
TRANSACTIONS = {"AddPartitionsToTxn": 0, "EndTxn": 0}


@case(
    "transactions/compressed-at-once",
    guarantees=["txn-001", "err-003"],
    apis=TRANSACTIONS,
    needs=["partitions"],
    detects=["B208"],
)
def each_compressed_batch_is_taken_for_what_it_is(wire, topic_of, transactional_id, rng):
    """However many transactional producers send compressed batches at the same moment, and send them again, each MUST
    be accepted, and a read_committed consumer MUST read the records of each once, whole, in every partition.

    Sixteen producers, each on its own connection, send 44 times at once: the same batch to 30 partitions, and to one
    more that is new to their transaction, so that a broker verifies it with the coordinator before it looks at any.
    """
    topic = topic_of(partitions=PARTITIONS + TURNS)
    places = [(topic, partition) for partition in range(PARTITIONS + TURNS)]
    names = [transactional_id, *(wire.name(f"x{number}") for number in range(1, PRODUCERS))]
    producers = [
        wire.producer(name, timeout_ms=PATIENT_MS, via=f"producer {number}") for number, name in enumerate(names)
    ]
    sent = [[rng.randbytes(30).hex().encode() for _ in range(rng.choice((1, 1, 6)))] for _ in producers]
    if wire.transaction_version < 2:
        _must_succeed(at_once(wire, [partial(_add, wire, one, places) for one in producers]))
    _send_all(wire, producers, sent, places)
    _must_succeed(at_once(wire, [partial(one.commit) for one in producers]))
    for place in places:
        _must_be_read_once(wire, place, sorted(value for values in sent for value in values))


def _send_all(wire, producers, sent, places):
    """In each turn all producers send their batches at one time, to the old partitions and to one new one."""
    made = [
        one.batch(
            records=[Record(None, value) for value in values], sequence=0, compression=CODECS[number % len(CODECS)]
        )
        for number, (one, values) in enumerate(zip(producers, sent, strict=True))
    ]
    how = {"version": min(11, wire.versions("Produce")[-1])} if wire.transaction_version < 2 else {}
    for turn in range(TURNS):
        asks = [
            partial(
                wire.produce_all,
                dict.fromkeys(part, batch),
                transactional_id=one.transactional_id,
                via=one.via,
                **how,
            )
            for part in _by_leader(wire, [*places[:PARTITIONS], places[PARTITIONS + turn]])
            for one, batch in zip(producers, made, strict=True)
        ]
        _must_succeed(at_once(wire, asks))


def _must_be_read_once(wire, place, wanted):
    wire.await_settled(*place)
    read = wire.read_all(*place, isolation=COMMITTED)
    found = sorted(map(bytes, read.values))
    said = f"a read_committed consumer of partition {place[1]} reads {len(found)} records"
    read.must(found == wanted, f"{said}; it must read those {len(wanted)} that were sent, each once")


def _add(wire, producer, places, **how):
    return wire.add_partitions(producer.transactional_id, producer.id, producer.epoch, places, via=producer.via, **how)


def _by_leader(wire, places):
    led = {}  # type: ignore[var-annotated]
    for place in places:
        led.setdefault(wire.leader(*place), []).append(place)
    return led.values()


def _must_succeed(answers):
    for answer in answers:
        answer.must_succeed()
