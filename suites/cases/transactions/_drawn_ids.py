"""Transactional ids that are followed: the effect of each step on them, and all that must be described of each."""

from brokertrial.suites.cases.transactions._described_ids import OFFSETS_TOPIC, WITHIN_S, DescribedIds
from brokertrial.suites.probe import batch, rebalance
from brokertrial.suites.probe.failures import breaks
from brokertrial.wire import errors

APIS = {
    "AddPartitionsToTxn": 0,
    "AddOffsetsToTxn": 0,
    "TxnOffsetCommit": 3,
    "EndTxn": 0,
    "DescribeTransactions": 0,
    "ListTransactions": 0,
    "DescribeProducers": 0,
}
TIMEOUTS_MS = (58_000, 59_000, 60_000)
"""Longer than any transaction is left open; clusters may have a minute at most (transaction.max.timeout.ms)."""
OLD_MS, EXPIRES_MS = 20_000, 55_000
STEPS = (
    *["begin"] * 5, *["offsets"] * 3, *["end"] * 4, "end wrongly", "end again", "end nothing",
    *["init"] * 2, *["init again"] * 3, "strange",
)  # fmt: skip


class DrawnId:
    """A transactional id as it must be."""

    def __init__(self, name, newer):
        self.name, self.newer = name, newer
        self.id = self.epoch = self.began_ms = -1
        self.start: int | None = -1
        self.before: int | None = -1
        self.later = False
        self.before_its_end = None
        """The epoch under which its last end was asked for, if that raised it and nothing has come since."""
        self.timeout_ms, self.state = TIMEOUTS_MS[0], "Empty"
        self.last = None
        """The epoch from which the present one was asked for; None is unknown."""
        self.held, self.gone, self.sequences, self.staged = {}, [], {}, {}


class DrawnIds(DescribedIds):
    """The ids, a topic, and a group with one member: what each step makes of them."""

    def __init__(self, wire, topic, group, rng):
        super().__init__(wire, topic, rng)
        self.group = group
        newer = wire.transaction_version >= 2
        self.all = [DrawnId(wire.name(f"x{number}"), newer and number % 2 == 0) for number in range(4)]
        self.offsets, self.puts = {}, 0
        """Partition -> the how many-th offset that was staged is in force, and which it is: of two the later one."""
        self.member = wire.member(group, session_timeout_ms=300_000)
        rebalance(self.member)
        for one in self.all:
            self.step_init(one)
            self.must_be_described(one)

    def end_what_is_old(self):
        """Before it expires by itself."""
        for old in self.all:
            if old.state == "Ongoing" and self.wire.now_ms() > old.began_ms + OLD_MS:
                self.step_end(old)
                self.must_be_described(old)

    def come_to_every_state(self):
        """One that is aborted, one committed, one open with offsets, and one as it was."""
        for one, commit in zip(self.all[:3], self.rng.sample((True, False, None), 3), strict=True):
            self.step_offsets(one)
            if commit is not None:
                self.step_end(one, commit)
            self.must_be_described(one)

    def are_read_back(self):
        """After a restart: an epoch that was asked for from another is not known as that any more, the rest is."""
        self.wire.await_topic(self.topic)
        for one in self.all:
            one.last = None
            if one.state == "Empty" and self.wire.transaction_version < 2:
                one.before, one.start = one.start, None  # before 4.0 it may have the start of the last one until then

    # what is asked

    @breaks("txn-007")
    def step_init(self, one):
        """From nothing: the next epoch, whatever was open is aborted, and the timeout is the new one."""
        version = self._version("InitProducerId", 0, 5)
        timeout_ms = self.rng.choice(TIMEOUTS_MS)
        answer = self.wire.init_producer_id(one.name, timeout_ms=timeout_ms, version=version).must_succeed()
        if one.id >= 0:
            answer.must_have("producer_id", one.id)
        fenced = one.state == "Ongoing"  # its abort has an epoch of its own, which no producer is given
        answer.must_have("producer_epoch", one.epoch + 1 + fenced)
        self._begun_anew(one, answer, timeout_ms, last=-1)

    @breaks("txn-007", "txn-029")
    def step_init_again(self, one):
        """From an id and an epoch: the present one goes on, the one before repeats itself, others are fenced."""
        if one.state == "Ongoing":
            return
        version, timeout_ms = self._version("InitProducerId", 3, 5), self.rng.choice(TIMEOUTS_MS)
        how = self.rng.choice(("now", "now", "retry", "of another", "never had", "half", "over"))
        over = [epoch for epoch in one.gone if one.last is not None and epoch != one.last]
        if (how == "retry" and (one.last is None or one.last < 0)) or (how == "over" and not over):
            how = "now"
        id_, epoch = {
            "now": (one.id, one.epoch),
            "retry": (one.id, one.last),
            "over": (one.id, self.rng.choice(over[-3:] or [-1])),
            "of another": (one.id + 1_000_000, one.epoch),
            "never had": (one.id, one.epoch + self.rng.choice((1, 5))),
            "half": self.rng.choice(((one.id, -1), (-1, one.epoch))),
        }[how]
        answer = self.wire.init_producer_id(
            one.name, timeout_ms=timeout_ms, producer_id=id_, epoch=epoch, version=version
        )
        if how == "half":
            answer.must_be_refused(errors.INVALID_REQUEST)
        elif how in ("of another", "never had", "over"):
            answer.must_be_refused(errors.PRODUCER_FENCED if version >= 4 else errors.INVALID_PRODUCER_EPOCH)
        else:
            answer.must_have("producer_id", one.id)
            answer.must_have("producer_epoch", one.epoch + (how == "now"))
            self._begun_anew(one, answer, timeout_ms, last=one.epoch if how == "now" else one.last)

    @breaks("txn-028")
    def step_begin(self, one):
        """Partitions join, by request or by being written to; one that is unknown keeps all others out."""
        self._is_later(one)
        partitions = self.rng.sample(range(3), self.rng.choice((1, 2, 3)))
        if one.newer:
            self._written(one, partitions[0])
            return
        version, bad = self._version("AddPartitionsToTxn", 0, 3), self.rng.random() < 0.3
        asked = [*partitions, 9] if bad else partitions
        answer = self._add(one, one.id, one.epoch, asked, version)
        wanted = dict.fromkeys(partitions, errors.OPERATION_NOT_ATTEMPTED if bad else 0)
        self._must_have_codes(answer, wanted | ({9: errors.UNKNOWN_TOPIC_OR_PARTITION} if bad else {}))
        if not bad:
            self._joined(one, self.topic, partitions)

    @breaks("txn-029")
    def step_strange(self, one):
        """Partitions for an epoch that is over, an epoch to come, or another producer's id."""
        version = self._version("AddPartitionsToTxn", 0, 3)
        fenced = errors.PRODUCER_FENCED if version >= 2 else errors.INVALID_PRODUCER_EPOCH
        id_, epoch, code = self.rng.choice(
            [
                *[(one.id, epoch, fenced) for epoch in one.gone[-2:]],
                (one.id, one.epoch + 1, fenced),
                (one.id + 1_000_000, one.epoch, errors.INVALID_PRODUCER_ID_MAPPING),
            ]
        )
        self._must_have_codes(self._add(one, id_, epoch, [0, 2], version), {0: code, 2: code})

    @breaks("txn-012")
    def step_offsets(self, one):
        """Offsets of the group join; whom the group does not know that way stages nothing, the transaction is open."""
        self._is_later(one)
        if not one.newer:
            version = self._version("AddOffsetsToTxn", 0, 3)
            self.wire.add_offsets(one.name, one.id, one.epoch, self.group, version=version).must_succeed()
        who, code = self.rng.choice(
            [
                ({}, 0),
                ({"member_id": self.member.id, "generation": self.member.generation}, 0),
                ({"member_id": self.member.id, "generation": 7}, errors.ILLEGAL_GENERATION),
                ({"member_id": "stranger", "generation": self.member.generation}, errors.UNKNOWN_MEMBER_ID),
            ]
        )
        partition, offset = self.rng.randrange(3), self.rng.randrange(1000)
        version = self._version("TxnOffsetCommit", *((5, 5) if one.newer else (3, 4)))
        answer = self.wire.txn_offset_commit(
            one.name, one.id, one.epoch, self.group, {(self.topic, partition): offset}, version=version, **who
        )
        with breaks("txn-015" if code else "txn-012"):
            answer.must_have("topics[0].partitions[0].error_code", code)
        self._joined(one, OFFSETS_TOPIC, [])
        if not code:
            self.puts += 1
            one.staged[partition] = (self.puts, offset)

    @breaks("txn-010")
    def step_end(self, one, commit=None):
        if one.state != "Ongoing":
            return
        if self.wire.now_ms() > one.began_ms + EXPIRES_MS:
            self.wire.unclear("a transaction was open for so long that it may have expired")
        commit = self.rng.random() < 0.5 if commit is None else commit
        version = 5 if one.newer else self._version("EndTxn", 0, 4)
        answer = self.wire.end_txn(one.name, one.id, one.epoch, commit=commit, version=version).must_succeed()
        if one.newer:
            answer.must_have("producer_id", one.id).must_have("producer_epoch", one.epoch + 1)
            self._next_epoch(one, one.epoch + 1)
        self._ended(one, commit)
        for partition, put in one.staged.items() if commit else ():
            self.offsets[partition] = max(put, self.offsets.get(partition, put))
        one.staged = {}
        self.wire.eventually(self._offsets_must_be, within=WITHIN_S)

    def _ended(self, one, commit):
        one.state, one.held, one.last = "CompleteCommit" if commit else "CompleteAbort", {}, None
        one.before_its_end = one.gone[-1] if one.newer else None

    @breaks("txn-010")
    def step_end_again(self, one):
        """Where each end raises the epoch, a repeated one is answered the same, its opposite is refused."""
        if not one.newer or one.before_its_end is None or one.state not in ("CompleteCommit", "CompleteAbort"):
            return
        commit, same = one.state == "CompleteCommit", self.rng.random() < 0.6
        who = (one.name, one.id, one.before_its_end)
        answer = self.wire.end_txn(*who, commit=commit == same, version=5)
        if same:
            answer.must_have("producer_id", one.id).must_have("producer_epoch", one.epoch)
        else:
            answer.must_be_refused(errors.INVALID_TXN_STATE)

    @breaks("txn-010")
    def step_end_nothing(self, one):
        """Where each end raises the epoch, an abort of nothing is legal: an empty transaction ends, in a new epoch."""
        if not one.newer or one.state == "Ongoing":
            return
        self._is_later(one)
        answer = self.wire.end_txn(one.name, one.id, one.epoch, commit=False, version=5)
        answer.must_have("producer_id", one.id).must_have("producer_epoch", one.epoch + 1)
        self._next_epoch(one, one.epoch + 1)
        now_ms = self.wire.now_ms()
        one.before, one.start, one.later, one.began_ms = one.start, None, now_ms > one.began_ms + 20, now_ms
        self._ended(one, commit=False)

    @breaks("txn-010")
    def step_end_wrongly(self, one):
        """An end under another epoch or id, or where none is open: the same end again is harmless before KIP-890."""
        version = 5 if one.newer else self._version("EndTxn", 0, 4)
        commit = one.newer or self.rng.random() < 0.5
        fenced = errors.PRODUCER_FENCED if version >= 2 else errors.INVALID_PRODUCER_EPOCH
        cases = [
            (one.id, one.epoch + 3, fenced),
            (one.id + 1_000_000, one.epoch, errors.INVALID_PRODUCER_ID_MAPPING),
        ]
        if one.state != "Ongoing":
            again = not one.newer and one.state == ("CompleteCommit" if commit else "CompleteAbort")
            cases.append((one.id, one.epoch, 0 if again else errors.INVALID_TXN_STATE))
        id_, epoch, code = self.rng.choice(cases)
        answer = self.wire.end_txn(one.name, id_, epoch, commit=commit, version=version)
        with breaks("txn-010" if (id_, epoch) == (one.id, one.epoch) else "txn-029"):
            answer.must_have("error_code", code)

    # the ways there

    def _is_later(self, one):
        """So that the next transaction begins at another time than the last one."""
        due_ms = one.began_ms + 21 if one.state != "Ongoing" else 0
        self.wire.until(lambda: self.wire.now_ms() > due_ms, within=5, what="it is later than the last one")

    def _begun_anew(self, one, answer, timeout_ms, last):
        if answer.epoch != one.epoch:
            self._next_epoch(one, answer.epoch)
        one.id, one.timeout_ms, one.last = answer.producer_id, timeout_ms, last
        one.before, one.state, one.start, one.held, one.staged = one.start, "Empty", None, {}, {}
        one.before_its_end = None

    def _next_epoch(self, one, epoch):
        one.gone += [one.epoch] if one.epoch >= 0 else []
        one.epoch, one.sequences = epoch, {}

    def _joined(self, one, topic, partitions):
        if one.state != "Ongoing":
            now_ms = self.wire.now_ms()
            one.before, one.state, one.start = one.start, "Ongoing", None
            one.later, one.began_ms, one.before_its_end = now_ms > one.began_ms + 20, now_ms, None
        one.held[topic] = one.held.get(topic, set()) | set(partitions)

    @breaks("txn-020")
    def _written(self, one, partition):
        sequence = one.sequences.get(partition, 0)
        made = batch(
            "a", producer_id=one.id, producer_epoch=one.epoch, base_sequence=sequence, transactional=True,
            timestamp=self.wire.now_ms(),
        )  # fmt: skip
        self.wire.produce(self.topic, made, partition, transactional_id=one.name).must_succeed()
        one.sequences[partition] = sequence + 1
        self._joined(one, self.topic, [partition])

    def _add(self, one, id_, epoch, partitions, version):
        places = [(self.topic, partition) for partition in partitions]
        return self.wire.add_partitions(one.name, id_, epoch, places, version=version)

    def _must_have_codes(self, answer, wanted):
        rows = answer.at("results_by_topic_v3_and_below[0].results_by_partition")
        found = {row.partition_index: row.partition_error_code for row in rows}
        answer.must(found == wanted, f"the error codes are {found}; they must be {wanted}")

    @breaks("txn-012")
    def _offsets_must_be(self):
        every = [(self.topic, partition) for partition in range(3)]
        answer = self.wire.committed_all(self.group, every)
        found = {partition: offset for (_, partition), offset in answer.offsets.items()}
        wanted = {partition: self.offsets.get(partition, (0, -1))[1] for partition in range(3)}
        answer.must(found == wanted, f"the offsets are {found}; they must be {wanted}")
