"""What a Fetch of committed records says of transactions that end while it waits (KIP-98)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED

LONG_MS, SHORT_MS, SPARE_MS = 20_000, 2_000, 1_000
NEVER = 1 << 28
SESSIONS_SINCE = 7
SIZE, HEADER = 300, 61
"""Of a record and of a batch: so much that markers do not make up for one."""
ABORT, COMMIT = "abort", "commit"
SITUATIONS = {
    "open when it comes": ([("a", 0)], [("a", ABORT)]),
    "begun while it waits": ([], [("a", 0), ("a", 0), ("a", ABORT)]),
    "aborted behind an open one": ([("b", 0), ("a", 0), ("a", ABORT)], [("b", COMMIT)]),
    "two at a time": ([("b", 0), ("a", 0)], [("a", ABORT), ("b", ABORT)]),
    "one behind the other": ([("a", 0)], [("a", ABORT), ("a", 0), ("a", COMMIT), ("a", 0), ("a", ABORT)]),
    "committed beside it": ([("a", 0), ("b", 0)], [("b", COMMIT), ("a", ABORT)]),
    "in both partitions": ([("a", 0), ("a", 1)], [("a", ABORT)]),
}
"""What was done when the readers come, and what while they wait: a record to a partition, or an end."""


@case(
    "fetch/aborted-while-it-waits",
    guarantees=["txn-003", "txn-002"],
    needs=["partitions"],
    apis={"Fetch": 4, "InitProducerId": 0, "EndTxn": 0},
    detects=["B250"],
)
def who_had_to_wait_leaves_the_same_out(wire, topic_of, rng):
    """A Fetch of committed records that had to wait MUST name each aborted transaction whose records it brings, and no
    other, whenever that was begun, written to and aborted: before the Fetch came or while it waited; whether it waits
    for enough or until its time is over, in a session or without.

    In each situation readers of all versions wait for the same, of two partitions.
    """
    topic = topic_of(partitions=2 * len(wire.nodes))
    logs = EndsMeanwhile(wire, topic, rng)
    for what in rng.sample(list(SITUATIONS), len(SITUATIONS)):
        with wire.part(what):
            logs.must_be_seen(*SITUATIONS[what])
    with wire.part("until its time is over"):
        logs.must_be_seen(*SITUATIONS["open when it comes"], enough=False)


class EndsMeanwhile:
    """Two partitions of one leader, two producers, and what is in the log since the readers' position."""

    def __init__(self, wire, topic, rng):
        self.wire, self.topic, self.rng = wire, topic, rng
        self.partitions = wire.led_together(topic, 2)
        self.producers = {name: wire.producer(wire.name(name)) for name in ("a", "b")}
        self.turns = 0

    def must_be_seen(self, before, meanwhile, *, enough=True):
        self.turns += 1
        self.starts = {number: self.wire.log_end(self.topic, number) for number in self.partitions}
        self.open, self.aborted, self.offsets = {}, [], []
        for step in before:
            self._done(*step)
        least = (SIZE + HEADER) * sum(what in (0, 1) for _, what in (*before, *meanwhile)) if enough else NEVER
        began = self.wire.now_ms()
        readers = [self._reader(version, least, enough) for version in self.wire.versions("Fetch") if version >= 4]
        cause = None
        for step in meanwhile:
            cause = self._done(*step)
        for number in self.partitions:
            self.wire.await_settled(self.topic, number)
        if not enough and self.wire.now_ms() - began > SHORT_MS - SPARE_MS:
            return  # the wait may have been over before
        for reader in readers:
            self._must_name(reader)
            if enough:
                self.wire.at_once(reader, after=cause, hidden_s=LONG_MS / 1_000)

    def _done(self, name, what):
        producer = self.producers[name]
        if what in (ABORT, COMMIT):
            begun = self.open.pop(name)
            self.aborted += [(number, producer.id, first) for number, first in begun.items()] if what == ABORT else []
            return (producer.abort() if what == ABORT else producer.commit()).must_succeed()
        number = self.partitions[what]
        sent = producer.send(self.topic, "x" * SIZE, partition=number).must_succeed()
        self.open.setdefault(name, {}).setdefault(number, sent.offset)
        self.offsets.append((number, sent.offset))
        return sent

    def _reader(self, version, least, enough):
        wait_ms = LONG_MS if enough else SHORT_MS
        positions = {(self.topic, number): start for number, start in self.starts.items()}
        how = {"isolation": COMMITTED, "version": version, "via": f"reader {version} {self.turns}"}
        how["at"] = self.topic, self.partitions[0]
        if version >= SESSIONS_SINCE and self.rng.random() < 0.5:
            opening = self.wire.fetch_many(positions, session_epoch=0, max_wait_ms=0, min_bytes=0, **how)
            if opening.session_id:
                positions, how["session_id"], how["session_epoch"] = {}, opening.session_id, 1
        return self.wire.fetch_many(positions, max_wait_ms=wait_ms, min_bytes=least, wait=False, **how)

    def _must_name(self, reader):
        for number in {number: None for number, _ in self.offsets}:
            part = reader.of(self.topic, number)
            held = [record.offset for record in part.records]
            written = [offset for of, offset in self.offsets if of == number]
            part.must(held == written, f"it holds the offsets {held}; it must be {written}", part.row)
            wanted = sorted((who, first) for of, who, first in self.aborted if of == number)
            named = sorted(part.aborted)
            part.must(named == wanted, f"it names {named} as aborted; it must be {wanted}", part.row)
