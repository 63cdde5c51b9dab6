"""Fetches with min_bytes=0: there is always as much as they ask for (KIP-74, fetch.min.bytes)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED, batch

WAIT_MS = 20_000


@case(
    "fetch/asks-for-nothing",
    guarantees=["fetch-008", "fetch-004"],
    level="should",
    needs=["partitions"],
    apis={"Fetch": 4, "DeleteRecords": 0, "EndTxn": 0},
    detects=["B120"],
)
def who_asks_for_no_bytes_does_not_wait(wire, topic_of, transactional_id, rng):
    """A fetch with min_bytes=0 SHOULD be answered at once, however long it may wait, in every version: with nothing at
    the end of a log, and with what there is before it.

    Logs to which nothing was written, that hold records, of which all was deleted, and whose last stable offset an open
    transaction holds; alone, all at once, and in a session. One fetch of one byte shows that the end is worth a wait.
    """
    topic = topic_of(partitions=4 * len(wire.nodes))
    empty, full, deleted, open_ = wire.led_together(topic, 4)
    for number in (full, deleted):
        wire.produce(topic, batch("a", "b"), number).must_be_at(0)
    wire.delete_records(topic, deleted, offset=-1).must_succeed()
    producer = wire.producer(transactional_id, timeout_ms=60_000)
    producer.send(topic, "a", partition=open_).must_succeed()
    ends = {empty: 0, full: 2, deleted: 2, open_: 0}
    for version in wire.versions("Fetch"):
        number = rng.choice(list(ends))
        with wire.part(f"v{version}"):
            _must_not_wait(wire, topic, {number: ends[number]}, version=version)
            _must_not_wait(wire, topic, ends, version=version)
    _must_not_wait(wire, topic, {**ends, full: 0}, holds={full: ("a", "b")})
    in_session = [version for version in wire.versions("Fetch") if version >= 7]
    if in_session:
        _must_not_wait_in_a_session(wire, topic, ends, rng.choice(in_session))
    waits = wire.fetch(topic, full, offset=2, max_wait_ms=1_000, min_bytes=1).must_be_empty()
    waits.must(waits.took_ms >= 900, f"with min_bytes=1 it came back after {waits.took_ms:.0f} ms; it may wait 1000 ms")
    producer.abort().must_succeed()


def _must_not_wait(wire, topic, ends, *, holds=None, **how):
    """Of committed records where a transaction is open; of all of them it would have one."""
    places = {(topic, number): offset for number, offset in ends.items()}
    answer = wire.fetch_many(places, max_wait_ms=WAIT_MS, min_bytes=0, isolation=COMMITTED, **how)
    wire.at_once(answer, hidden_s=WAIT_MS / 1_000)
    for number in ends:
        answer.of(topic, number).must_hold(*(holds or {}).get(number, ()))


def _must_not_wait_in_a_session(wire, topic, ends, version):
    """It is opened, and asked twice for what is new, of which there is nothing."""
    places = {(topic, number): offset for number, offset in ends.items()}
    how = {"max_wait_ms": WAIT_MS, "min_bytes": 0, "isolation": COMMITTED, "version": version}
    opened = wire.fetch_many(places, session_id=0, session_epoch=0, **how)
    wire.at_once(opened, hidden_s=WAIT_MS / 1_000)
    for epoch in (1, 2) if opened.session_id else ():
        step = {"session_id": opened.session_id, "session_epoch": epoch, **how}
        answer = wire.fetch_many({}, at=next(iter(places)), **step)
        wire.at_once(answer, hidden_s=WAIT_MS / 1_000)
