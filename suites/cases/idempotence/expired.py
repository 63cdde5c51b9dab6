"""Producers whose records retention has deleted: they are remembered for as long as others (KIP-360, KAFKA-7190)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.idempotence.drawn import NOT_NEXT
from brokertrial.suites.probe.admin import SET, TOPIC
from brokertrial.wire import errors
from brokertrial.wire.records import Record

HOUR_MS, WITHIN_S = 3_600_000, 60
PRODUCERS, BATCHES, ROUNDS = 3, 4, 3
CHECKS = "log.retention.check.interval.ms"


@case(
    "idempotence/known-after-retention",
    guarantees=["idem-012", "idem-002"],
    needs=["topic-settings"],
    apis={"InitProducerId": 0, "IncrementalAlterConfigs": 0},
    detects=["D75"],
)
def who_has_no_record_left_is_known(wire, topic_of, rng):
    """A batch that is sent again after retention has deleted all records of its producer MUST NOT be appended again,
    nor one that leaves a gap; the next sequence MUST be accepted. As long as the leader lives: one that starts forgets
    them (ProducerStateManager.truncateAndReload deletes snapshots up to the log start).

    Three producers in each of three topics, of which one loses its records by time, one by size, and one nothing. They
    go on for three rounds, in which what they add expires again.
    """
    wire.needs_setting(CHECKS, at_most=5_000)
    logs = [
        ExpiringLog(wire, topic_of(what=what, configs={"segment.ms": "60000"}), what, limits)
        for what, limits in (("time", {"retention.ms": "1000"}), ("size", {"retention.bytes": "0"}), ("nothing", {}))
    ]
    for log in logs:
        log.write()
    for turn in range(ROUNDS):
        for log in logs:
            log.expire()
        for log in rng.sample(logs, len(logs)):
            with wire.part(f"{log.what}, round {turn}"):
                log.must_know(rng)


class ExpiringLog:
    """A topic, and what its producers sent last."""

    def __init__(self, wire, topic, what, limits):
        self.wire, self.topic, self.what, self.limits = wire, topic, what, limits
        self.producers = [wire.producer() for _ in range(PRODUCERS)]
        self.newest = {}
        """Producer -> its newest batch and where it was."""
        self.next = [0] * PRODUCERS
        self.end = 0
        self.time = wire.now_ms() - 3 * HOUR_MS

    def write(self):
        for _ in range(BATCHES):
            for number in range(PRODUCERS):
                self._send(number)

    def _send(self, number):
        sequence = self.next[number]
        records = [Record(None, b"%d" % self.end, (), self.time)]
        made = self.producers[number].batch(records=records, sequence=sequence)
        answer = self.wire.produce(self.topic, made)
        if answer.error == errors.INVALID_TIMESTAMP:
            self.wire.not_applicable("the broker takes no records with old times", "unsupported")
        answer.must_be_at(self.end)
        self.newest[number] = made, self.end
        self.next[number], self.end = sequence + 1, self.end + 1

    def expire(self):
        if self.limits:
            changes = [(name, SET, value) for name, value in self.limits.items()]
            self.wire.change_configs(TOPIC, self.topic, changes).must_succeed()
            self.wire.until(
                lambda: self.wire.log_start(self.topic) == self.end, within=WITHIN_S, what="retention deletes all"
            )

    def must_know(self, rng):
        """The next sequence of one of them is taken last."""
        for number, (made, offset) in self.newest.items():
            again = self.wire.produce(self.topic, made)
            if again.error:
                again.must_be_refused(*NOT_NEXT, errors.DUPLICATE_SEQUENCE_NUMBER)
            else:
                again.must_be_at(offset)
            gap = self.producers[number].batch("gap", sequence=self.next[number] + 2)
            self.wire.produce(self.topic, gap).must_be_refused(*NOT_NEXT)
        self.wire.list_offsets(self.topic, at="latest").must_name(offset=self.end)
        self._send(rng.randrange(PRODUCERS))
