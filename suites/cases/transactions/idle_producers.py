"""Producers that a partition forgets: the idle ones, by the setting in force, and none whose transaction is open."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED
from brokertrial.suites.probe.admin import BROKER, DELETE, SET
from brokertrial.wire import errors

EXPIRATION, CHECKS = "producer.id.expiration.ms", "producer.id.expiration.check.interval.ms"
APIS = {
    "AddPartitionsToTxn": 0,
    "EndTxn": 0,
    "DescribeProducers": 0,
    "DescribeConfigs": 1,
    "IncrementalAlterConfigs": 0,
    "DeleteTopics": 1,
}
MINUTE_MS, EXPIRES_MS = 60_000, 600_000
OLD_MS = 2 * EXPIRES_MS
"""Of a record: its producer is idle by the shorter setting, and not by that of a day."""
ALL, WITHIN_S, CHECKED_MS = "", 20, 1_500
ROWS = "topics[0].partitions[0].active_producers"
KINDS = ("idle", "young", "came back", "went back", "open", "ended", "early")


@case(
    "transactions/idle-producers-are-forgotten",
    guarantees=["idem-011", "txn-002", "txn-004", "txn-026", "adm-010"],
    apis=APIS,
    needs=["settings", "started", "partitions"],
    since="3.4 (KIP-854)",
    detects=["T01", "T02"],
)
def what_is_idle_is_forgotten_and_nothing_else(wire, topic_of, rng):
    """With producer.id.expiration.ms shortened while the brokers run, every partition MUST forget the producers whose
    newest record or marker is older, whatever they sent before, and MUST know all others as before: those that came
    back, and those with an open transaction, however old it is, whose abort no committed reader may miss. A forgotten
    producer may begin anew at any sequence; once the setting is restored no producer is forgotten any more.

    The age is that of the records' timestamps: nothing has to be waited for but the check itself.
    """
    _follow(wire, topic_of, rng)


@case(
    "transactions/idle-producers-over-restarts",
    guarantees=["idem-007", "txn-002", "txn-004", "txn-026", "adm-010"],
    apis=APIS,
    needs=["settings", "started", "partitions", "kill", "terminate", "restart"],
    since="3.4 (KIP-854)",
    detects=["T01"],
)
def the_same_is_forgotten_over_restarts(wire, topic_of, rng, nodes):
    """With producer.id.expiration.ms shortened, a partition MUST forget the producers whose newest record or marker is
    older, and MUST know all others as before, also where a leader is stopped cleanly and then killed while the setting
    is shortened.
    """
    _follow(wire, topic_of, rng, (nodes.stop_and_start, nodes.crash), nodes)


class TimedProducer:
    """A producer, and how a partition must describe it."""

    def __init__(self, kind, producer):
        self.kind, self.producer = kind, producer
        self.began = self.newest = -1
        self.epoch, self.sequence, self.batches = producer.epoch, -1, []

    @property
    def kept(self):
        return self.kind not in ("idle", "went back")


class ForgetfulPartition:
    """A partition, its producers, and its records."""

    def __init__(self, wire, topic, partition):
        self.wire, self.place, self.end = wire, (topic, partition), 0
        self.producers: list[TimedProducer] = []
        self.values: list[str] = []

    def add(self, kind, now_ms):
        """Batches with the times that this kind needs; what has a transaction is ended or left open."""
        transactional = kind in ("open", "ended")
        name = self.wire.name("x") if transactional else None
        one = TimedProducer(
            kind, self.wire.producer(name, timeout_ms=50_000) if transactional else self.wire.producer()
        )
        old, young, early = now_ms - OLD_MS, now_ms - MINUTE_MS, now_ms + MINUTE_MS
        times = {
            "idle": (young - OLD_MS, old),
            "young": (young, young),
            "came back": (old, young),
            "went back": (young, old),
            "open": (old, old),
            "ended": (old, old),
            "early": (old, early),
        }[kind]
        for time in times:
            self._sent(one, time)
        if kind == "ended":
            ended = one.producer.commit().must_succeed()
            marked = self.end + 1
            self.wire.eventually(lambda: self.wire.list_offsets(*self.place).must_name(offset=marked), within=WITHIN_S)
            one.epoch = ended.struct.producer_epoch if ended.version >= 5 else one.epoch
            one.sequence = -1 if ended.version >= 5 else one.sequence
            one.began, self.end = -1, self.end + 1
        self.producers.append(one)

    def _sent(self, one, time):
        value = f"{one.kind} {self.end}"
        place, sequence = self.place, one.producer.sequences.get(self.place, 0)
        one.producer.send(place[0], value, partition=place[1], timestamp=time).must_be_at(self.end)
        one.batches.append((one.producer.batch(value, sequence=sequence, timestamp=time), self.end))
        if one.kind in ("open", "ended"):
            one.began = self.end if one.began < 0 else one.began
        one.sequence, one.newest = sequence, time
        self.values.append(value)
        self.end += 1

    def must_be_described(self, forgotten):
        """All that is known of each producer: epoch, sequence, time, and where its transaction began."""
        answer = self.wire.describe_producers(*self.place).must_succeed()
        rows = {row.producer_id: row for row in answer.at(ROWS)}
        found = {
            id_: (row.producer_epoch, row.last_sequence, row.current_txn_start_offset) for id_, row in rows.items()
        }
        must = [one for one in self.producers if one.kept or not forgotten]
        wanted = {one.producer.id: (one.epoch, one.sequence, one.began) for one in must}
        kinds = {one.producer.id: one.kind for one in self.producers}
        wrong = sorted(kinds.get(id_, "?") for id_ in {*found, *wanted} if found.get(id_) != wanted.get(id_))
        answer.must(not wrong, f"epoch, sequence, start are {found}; they must be {wanted}: {', '.join(wrong)}", ROWS)
        for one in must:
            time = rows[one.producer.id].last_timestamp
            fits = time > one.newest + OLD_MS // 2 if one.kind == "ended" else time == one.newest  # a marker is of now
            answer.must(fits, f"the newest record of {one.kind} is of {one.newest}; reported is {time}")
        starts = [one.began for one in self.producers if one.began >= 0]
        self.wire.list_offsets(*self.place, isolation=COMMITTED).must_name(offset=min(starts, default=self.end))

    def must_be_known_by_its_batches(self, newest):
        """Of who is kept a batch again is a duplicate and a gap is refused; of who is forgotten any sequence will do.

        `newest`: so many batches, for the snapshot of a log that was closed keeps the last one alone.
        """
        for one in self.producers:
            if one.kind in ("open", "ended"):
                continue
            gap = one.producer.batch("gap", sequence=one.sequence + 5)
            if one.kept:
                for made, offset in one.batches[-newest:]:
                    self.wire.produce(self.place[0], made, self.place[1]).must_be_at(offset)
                refused = self.wire.produce(self.place[0], gap, self.place[1])
                refused.must_be_refused(errors.OUT_OF_ORDER_SEQUENCE_NUMBER)
            else:
                self.wire.produce(self.place[0], gap, self.place[1]).must_be_at(self.end)
                one.kind, one.sequence, one.batches = "young", one.sequence + 5, [(gap, self.end)]
                self.values.append("gap")
                self.end += 1

    def must_end_right(self):
        """The open transactions abort; committed readers get all else."""
        aborted: list[str] = []
        for one in self.producers:
            if one.kind == "open":
                one.producer.abort().must_succeed()
                aborted += [value for value in self.values if value.startswith("open")]
        self.wire.await_settled(*self.place)
        committed = self.wire.read_all(*self.place, isolation=COMMITTED)
        committed.must_hold(*[value for value in self.values if value not in aborted])


def _follow(wire, topic_of, rng, acts=(), nodes=None):
    if wire.setting(EXPIRATION) is None:
        wire.not_applicable(f"the brokers do not report {EXPIRATION}")
    wire.needs_setting(CHECKS, at_most=5_000)
    topic, now_ms = topic_of(partitions=2), wire.now_ms()
    logs = [ForgetfulPartition(wire, topic, partition) for partition in range(2)]
    for log in logs:
        for kind in (*rng.sample(KINDS, len(KINDS)), *rng.sample(KINDS, 3)):
            log.add(kind, now_ms)
        log.must_be_described(forgotten=False)
    try:
        _set(wire, str(EXPIRES_MS))
        for act in (None, *acts):
            if act is not None:
                act(nodes.of(topic))
                wire.await_topic(topic)
            for log in logs:
                wire.eventually(lambda log=log: log.must_be_described(forgotten=True), within=WITHIN_S)
        for log in logs:
            log.must_be_known_by_its_batches(1 if acts else 2)
    finally:
        wire.change_configs(BROKER, ALL, [(EXPIRATION, DELETE, None)])
    for log in logs:
        log.must_end_right()
    wire.eventually(lambda: _must_be_kept(wire, logs[0], now_ms), within=WITHIN_S)
    wire.delete_topic(topic).must_succeed()


def _set(wire, value):
    changed = wire.change_configs(BROKER, ALL, [(EXPIRATION, SET, value)])
    if changed.error == errors.INVALID_REQUEST:
        wire.not_applicable(f"{EXPIRATION} cannot be changed while the brokers run")
    changed.must_succeed()


def _must_be_kept(wire, log, now_ms):
    """By the setting of a day an old producer stays, past the next checks."""
    one = wire.producer()
    one.send(log.place[0], "old", partition=log.place[1], timestamp=now_ms - OLD_MS).must_succeed()
    sent_ms, checks_ms = wire.now_ms(), int(wire.setting(CHECKS) or 0)
    wire.until(lambda: wire.now_ms() > sent_ms + checks_ms + CHECKED_MS, within=10, what="the check was due once more")
    answer = wire.describe_producers(*log.place).must_succeed()
    ids = {row.producer_id for row in answer.at(ROWS)}
    answer.must(one.id in ids, f"producer {one.id} is forgotten, though {EXPIRATION} was put back", ROWS)
