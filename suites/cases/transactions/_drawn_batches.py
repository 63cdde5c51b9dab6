"""Batches of transactional producers as a partition must judge them: epochs, sequences, and which sequence asked to
begin first.

known    a partition knows of a producer its epoch, its five newest batches of it, and where its transaction began
asked    of a transaction that has not begun here it keeps the lowest sequence that asked, refused or not (KIP-890)
"""

from typing import NamedTuple

from brokertrial.suites.probe import batch
from brokertrial.suites.probe.failures import breaks
from brokertrial.suites.probe.produce import UNVERIFIED
from brokertrial.wire import errors

PARTITIONS, WITHIN_S, WINDOW, WRAP = 3, 20, 5, 1 << 31
OPEN_MS = 600_000
ADDED_FIRST, JOINS = 11, 12
PLAIN = b"of no producer"
ROWS = "topics[0].partitions[0].active_producers"
UNADDED = (errors.INVALID_TXN_STATE, errors.TRANSACTION_ABORTABLE)
GAP = (errors.OUT_OF_ORDER_SEQUENCE_NUMBER,)
OLD = (errors.INVALID_PRODUCER_EPOCH, errors.PRODUCER_FENCED)
TOO_OLD = (errors.OUT_OF_ORDER_SEQUENCE_NUMBER, errors.DUPLICATE_SEQUENCE_NUMBER)
STEPS = (
    *["next"] * 8, *["again"] * 5, "too old", *["gap"] * 2, *["not added"] * 3, "old epoch", "plain",
    *["end"] * 3, "anew",
)  # fmt: skip


class WrittenBatch(NamedTuple):
    """A batch that was taken."""

    data: bytes
    sequence: int
    last: int
    offset: int


class AskedFirst(NamedTuple):
    """The first of a transaction that has not begun here: its epoch, and the lowest sequence that came."""

    epoch: int
    lowest: int
    from_zero: bool


class SeenProducer:
    """What one partition must know of one producer."""

    def __init__(self):
        self.epoch = self.began = -1
        self.batches: list[WrittenBatch] = []
        self.asked: AskedFirst | None = None

    @property
    def last(self):
        return self.batches[-1].last if self.batches else -1

    def written(self, epoch, first, count):
        """The one of its newest batches that has these sequences: it is answered with its offset, not refused."""
        sequences = (first, (first + count - 1) % WRAP)
        same = [one for one in self.batches[-WINDOW:] if (one.sequence, one.last) == sequences]
        return same[0] if same and epoch == self.epoch else None

    def asks(self, epoch, sequence, newer):
        """It wants to begin a transaction here."""
        known, came = self.asked, AskedFirst(epoch, sequence, newer)
        if known is None:
            self.asked = came
        elif epoch > known.epoch or (epoch == known.epoch and sequence < known.lowest):
            self.asked = came._replace(from_zero=known.from_zero)

    def judged(self, epoch, first):
        """The codes with one of which its next batch must be refused; none: it must be taken."""
        if self.asked is not None and first > (0 if self.asked.from_zero and not self.batches else self.asked.lowest):
            return GAP
        if self.epoch < 0:
            return ()
        follows = first == 0 if epoch != self.epoch else first == (self.last + 1) % WRAP
        return () if follows else GAP

    def ends(self, epoch):
        """A marker of this epoch."""
        if epoch != self.epoch:
            self.epoch, self.batches = epoch, []
        self.began = -1
        if self.asked is not None and not (self.asked.from_zero and self.asked.epoch == epoch):
            self.asked = None


def _broken_by(seen, epoch, codes):
    """By the next batch of this epoch, where it is not refused with one of the codes, or not taken."""
    if seen.epoch < 0:
        return ("idem-005", "idem-011") if codes else ("idem-011",)
    if seen.epoch != epoch:
        return ("idem-009",) if codes else ("idem-009", "txn-016")
    return ("idem-005",) if codes else ("prod-001",)


class DrawnProducer:
    """A transactional id, and the partitions of its transaction."""

    def __init__(self, wire, name):
        self.wire, self.name = wire, name
        begun = wire.producer(name, timeout_ms=OPEN_MS)
        self.id, self.epoch, self.timeout_ms, self.newer = begun.id, begun.epoch, begun.timeout_ms, False
        self.held: set[int] = set()
        self.old: list[bytes] = []


class DrawnBatches:
    """Producers and the partitions of a topic."""

    def __init__(self, wire, topic, rng):
        self.wire, self.topic, self.rng = wire, topic, rng
        self.both = wire.transaction_version >= 2
        self.producers = [DrawnProducer(wire, wire.name(f"x{number}")) for number in range(3)]
        self.ends = [1] * PARTITIONS
        self.known = {(one.name, number): SeenProducer() for one in self.producers for number in range(PARTITIONS)}
        self.open: dict[str, list[tuple[int, bytes]]] = {one.name: [] for one in self.producers}
        self.committed: list[list[tuple[int, bytes]]] = [[(0, PLAIN)] for _ in range(PARTITIONS)]
        self.count = 0
        for partition in range(PARTITIONS):  # one that was never written to may want 0 first (KAFKA-15591)
            wire.produce(topic, batch(PLAIN), partition).must_be_at(0)

    def step(self):
        one, partition = self.rng.choice(self.producers), self.rng.randrange(PARTITIONS)
        if not one.held:
            one.newer = self.both and self.rng.random() < 0.6
        name = self.rng.choice(STEPS).replace(" ", "_")
        getattr(self, f"step_{name}")(one, partition)
        for number in range(PARTITIONS):
            self.wire.eventually(lambda number=number: self._must_be_described(number), within=WITHIN_S)

    # batches

    def step_next(self, one, partition):
        """The next sequence; of a producer that is not known here any one at all, or 0 alone."""
        seen = self.known[one.name, partition]
        first = (seen.last + 1) % WRAP if seen.epoch == one.epoch else 0
        if seen.epoch < 0:
            first = self.rng.choice((0, 0, 7, WRAP - 2, WRAP - 1))
        self._send(one, partition, first)

    def step_gap(self, one, partition):
        seen = self.known[one.name, partition]
        first = (seen.last + 1 + self.rng.choice((1, 2, 40))) % WRAP if seen.epoch == one.epoch else 3
        self._send(one, partition, first)

    def _send(self, one, partition, first):
        if not one.newer and partition not in one.held:
            self._add(one, partition)
        made, values = self._made(one, first)
        seen = self.known[one.name, partition]
        if seen.epoch > one.epoch:
            return
        if seen.began < 0:
            seen.asks(one.epoch, first, one.newer)
        one.held.add(partition)  # though the batch be refused
        codes, again = seen.judged(one.epoch, first), seen.written(one.epoch, first, len(values))
        answer = self._produce(one, partition, made)
        if again:
            with breaks("idem-003"):
                answer.must_be_at(again.offset)
            return
        with breaks(*_broken_by(seen, one.epoch, codes)):
            if codes:
                answer.must_be_refused(*codes)
                return
            answer.must_be_at(self.ends[partition])
        self._taken(one, partition, WrittenBatch(made, first, (first + len(values) - 1) % WRAP, self.ends[partition]))
        for value in values:
            self.open[one.name].append((partition, value))
        self.ends[partition] += len(values)

    def _taken(self, one, partition, written):
        seen = self.known[one.name, partition]
        if seen.epoch != one.epoch:
            seen.epoch, seen.batches = one.epoch, []
        seen.batches.append(written)
        seen.asked = None
        if seen.began < 0:
            seen.began = written.offset
        one.old = [*one.old, written.data][-20:]

    @breaks("idem-002", "idem-003")
    def step_again(self, one, partition):
        """One of the newest batches: where the transaction is open here, or was begun anew, it is answered with its
        offset.
        """
        seen = self.known[one.name, partition]
        newest = seen.batches[-WINDOW:]
        if not newest or seen.epoch != one.epoch:
            return
        written = self.rng.choice(newest)
        if seen.began < 0:
            seen.asks(one.epoch, written.sequence, one.newer)
            if not one.newer and partition not in one.held:
                with breaks("txn-018"):
                    self._produce(one, partition, written.data).must_be_refused(*UNADDED)
                return
            one.held.add(partition)
        self._produce(one, partition, written.data).must_be_at(written.offset)

    @breaks("idem-004")
    def step_too_old(self, one, partition):
        seen = self.known[one.name, partition]
        if len(seen.batches) > WINDOW and seen.epoch == one.epoch and seen.began >= 0:
            written = self.rng.choice(seen.batches[:-WINDOW])
            self._produce(one, partition, written.data).must_be_refused(*TOO_OLD)

    @breaks("txn-020")
    def step_not_added(self, one, partition):
        """What the coordinator refuses leaves the lowest sequence that came: the one behind it may not be the first."""
        seen = self.known[one.name, partition]
        if partition in one.held or seen.epoch > one.epoch or (self.both and one.newer):
            return
        first = self.rng.choice((0, 3, seen.last + 1, seen.last + 2)) % WRAP
        seen.asks(one.epoch, first, False)
        made, values = self._made(one, first)
        self._produce(one, partition, made).must_be_refused(*UNADDED)
        if self.rng.random() < 0.5 and first + len(values) < WRAP:
            self._send(one, partition, first + len(values))

    @breaks("idem-009")
    def step_old_epoch(self, one, partition):
        """Whatever it was once, it is fenced: by the partition, or by the coordinator where the partition is behind."""
        seen = self.known[one.name, partition]
        if one.epoch == 0:
            return
        epoch = self.rng.randrange(one.epoch)
        if seen.epoch <= epoch and seen.began < 0:
            seen.asks(epoch, 0, one.newer)
        if seen.epoch == epoch and seen.began >= 0:
            return
        made, _ = self._made(one, 0, epoch)
        self._produce(one, partition, made).must_be_refused(*OLD)

    @breaks("txn-019")
    def step_plain(self, one, partition):
        """Beside its open transaction."""
        seen = self.known[one.name, partition]
        if seen.began < 0 or seen.epoch != one.epoch:
            return
        made, _ = self._made(one, (seen.last + 1) % WRAP, transactional=False)
        self.wire.produce(self.topic, made, partition).must_be_refused(errors.INVALID_TXN_STATE)

    # transactions

    @breaks("txn-018")
    def step_end(self, one, _):
        if not one.held:
            return
        commit, before = self.rng.random() < 0.6, one.epoch
        version = 5 if one.newer else self.rng.choice([each for each in self.wire.versions("EndTxn") if each <= 4])
        answer = self.wire.end_txn(one.name, one.id, one.epoch, commit=commit, version=version).must_succeed()
        if one.newer:
            one.epoch = answer.must_have("producer_epoch", before + 1).epoch
        self._ended(one, one.epoch, commit)

    @breaks("txn-007")
    def step_anew(self, one, _):
        """Its open transaction is aborted in an epoch of its own."""
        fenced, held = one.epoch + 1, bool(one.held)
        answer = self.wire.init_producer_id(one.name, timeout_ms=one.timeout_ms).must_have("producer_id", one.id)
        one.epoch = answer.must_have("producer_epoch", fenced + held).epoch
        self._ended(one, fenced, commit=False)

    def _ended(self, one, epoch, commit):
        for partition in sorted(one.held):
            self.ends[partition] += 1
            self.known[one.name, partition].ends(epoch)
        one.held = set()
        for partition, value in self.open[one.name] if commit else ():
            self.committed[partition].append((self.ends[partition], value))
        self.open[one.name] = []
        self.wire.eventually(lambda: self._must_have_ended(one), within=WITHIN_S)

    @breaks("txn-026")
    def _must_have_ended(self, one):
        answer = self.wire.describe_transaction(one.name).must_succeed()
        state = answer.at("transaction_states[0].transaction_state")
        answer.must(state in ("Empty", "CompleteCommit", "CompleteAbort"), f"{one.name} is {state}; it must have ended")

    def end_all(self):
        for one in self.producers:
            self.step_end(one, 0)
        for number in range(PARTITIONS):
            self.wire.eventually(lambda number=number: self._must_be_described(number), within=WITHIN_S)

    # the way there

    @breaks("txn-020")
    def _add(self, one, partition):
        self.wire.add_partitions(one.name, one.id, one.epoch, [(self.topic, partition)]).must_succeed()
        one.held.add(partition)

    def _made(self, one, first, epoch=None, **settings):
        self.count += 1
        values = [b"%d.%d" % (self.count, number) for number in range(self.rng.randint(1, 3))]
        made = batch(
            *values, producer_id=one.id, producer_epoch=one.epoch if epoch is None else epoch, base_sequence=first,
            timestamp=self.wire.now_ms(), **{"transactional": True, **settings},
        )  # fmt: skip
        return made, values

    def _produce(self, one, partition, made):
        lowest, newest = (JOINS, 99) if one.newer else (3, ADDED_FIRST)
        version = self.rng.choice([each for each in self.wire.versions("Produce") if lowest <= each <= newest])

        def settled():
            answer = self.wire.produce(
                self.topic, made, partition, transactional_id=one.name, version=version, retry=False
            )
            return None if answer.error in UNVERIFIED else answer

        return self.wire.until(settled, within=WITHIN_S, what="the coordinator has verified the partition")

    # what is described

    @breaks("txn-026")
    def _must_be_described(self, partition):
        wire, place = self.wire, (self.topic, partition)
        with breaks("txn-006"):
            wire.list_offsets(*place).must_name(offset=self.ends[partition])
        answer = wire.describe_producers(*place).must_succeed()
        found = {
            row.producer_id: (row.producer_epoch, row.last_sequence, row.current_txn_start_offset)
            for row in answer.at(ROWS)
        }
        wanted = {
            one.id: (seen.epoch, seen.last, seen.began)
            for one in self.producers
            if (seen := self.known[one.name, partition]).epoch >= 0
        }
        answer.must(
            found == wanted, f"epoch, last sequence, start by producer are {found}; they must be {wanted}", ROWS
        )
