"""Batches of which every record was overtaken: of a producer the newest alone may stay, empty."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.compaction.survivors import awaited, cleanable
from brokertrial.suites.probe import batch
from brokertrial.wire.records import Record

TURNS, NEVER_S, SEGMENT_S = 8, 60, 1


@case(
    "compaction/emptied-batches-go",
    guarantees=["comp-001", "comp-007"],
    needs=["topic-settings", "compaction", "started"],
    apis={"InitProducerId": 0, "EndTxn": 0},
    detects=["D80"],
)
def one_empty_batch_stays_of_a_producer(wire, topic_of, transactional_id, rng):
    """Once a log is cleaned it MUST NOT hold more than one empty batch of a producer: the one with its last sequence.
    Also of a producer that begins at sequence 0 again and again, in higher epochs.

    Eight turns; a transactional producer begins anew in each and commits or aborts, an idempotent one raises its epoch
    by itself (KIP-360), one goes on; all write the same key, and another producer overtakes it at last.
    """
    topic = cleanable(wire, topic_of, **{"segment.ms": str(1_000 * SEGMENT_S), "min.cleanable.dirty.ratio": "0.0"})
    begins, raises, goes_on = wire.producer(transactional_id), wire.producer(), wire.producer()
    for turn in range(TURNS):
        if turn:
            begins.start()
        begins.send(topic, f"{turn}", key=b"k").must_succeed()
        rng.choice((begins.commit, begins.abort))().must_succeed()
        raises.send(topic, f"{turn}", key=b"k", sequence=0, epoch=turn).must_succeed()
        goes_on.send(topic, f"{turn}", key=b"k").must_succeed()
    wire.await_settled(topic)
    for key in (b"k", b"k", b"end"):
        wire.rest(2 * SEGMENT_S)
        wire.produce(topic, batch(records=[Record(key, b"", (), wire.now_ms())])).must_succeed()
    if awaited(wire, topic, b"k", NEVER_S) is None:
        wire.must(False, f"after {NEVER_S} s it is not cleaned")
    for what, producer in (("begins anew", begins), ("raises its epoch", raises), ("goes on", goes_on)):
        wire.eventually(lambda what=what, producer=producer: _must_be_few(wire, topic, what, producer), within=NEVER_S)


def _must_be_few(wire, topic, what, producer):
    log = wire.read_all(topic)
    empty = [
        one.header.base_offset
        for one in log.batches
        if one.header.producer_id == producer.id and not one.header.is_control and not one.header.record_count
    ]
    log.must(len(empty) <= 1, f"of the producer that {what} empty batches are left at {empty}; one may be left")
