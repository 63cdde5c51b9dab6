"""Fetches at the end of logs of every kind: they wait while there is nothing, and no longer (KIP-74)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED, UNCOMMITTED, batch
from brokertrial.suites.probe.admin import SET, TOPIC
from brokertrial.wire import errors

SHORT_MS, LONG_MS, WITHIN_S = 1_000, 20_000, 60
HOUR_MS = 3_600_000
CHECKS = "log.retention.check.interval.ms"


@case(
    "fetch/waits-at-whatever-end",
    guarantees=["fetch-004", "fetch-008"],
    needs=["topic-settings"],
    apis={"Fetch": 4, "DeleteRecords": 0, "EndTxn": 0, "IncrementalAlterConfigs": 0},
    detects=["D74"],
)
def there_is_nothing_to_read_anywhere(wire, topic_of, transactional_id, rng):
    """A fetch at the end of a log MUST wait for max_wait_ms while nothing comes, whatever the log has been through:
    nothing was ever written, all was deleted by DeleteRecords or by retention, the newest segment is new, a
    transaction is open, aborted or committed there. It MUST be answered at once when a record comes, with this record.

    Three times each: with a fetch for each log, with one for all, and with one that a record ends.
    """
    wire.needs_setting(CHECKS, at_most=5_000)
    logs = EndedLogs(wire, topic_of, transactional_id)
    for what in rng.sample(list(logs.ends), len(logs.ends)):
        with wire.part(what):
            logs.must_wait(what)
    with wire.part("all of them"):
        logs.must_wait_for_all()
    for what in rng.sample(list(logs.ends), len(logs.ends)):
        with wire.part(f"{what}, written to"):
            logs.must_be_woken(what)


class EndedLogs:
    """What was done to a log -> its topic, where its readers stand, and how they read."""

    def __init__(self, wire, topic_of, transactional_id):
        self.wire = wire
        old = wire.now_ms() - 3 * HOUR_MS
        self.ends = {}
        self.producers = {}
        rolls = {"segment.ms": "60000"}
        for what in ("never written", "written", "deleted", "expired", "rolled", "open", "aborted", "committed"):
            self.ends[what] = (topic_of(what=what, configs=rolls), 0, UNCOMMITTED)
        self._write("written", "a", "b")
        self._write("deleted", "a", "b")
        wire.delete_records(self.ends["deleted"][0], offset=-1).must_succeed()
        self._write("expired", "a", "b", timestamp=old)
        self._write("rolled", "a", timestamp=old)
        self._write("rolled", "b", timestamp=old + HOUR_MS)
        for what in ("open", "aborted", "committed"):
            self._transaction(what, wire.producer(f"{transactional_id}-{what}"))
        topic, end, _ = self.ends["expired"]
        wire.change_configs(TOPIC, topic, [("retention.ms", SET, "1000")]).must_succeed()
        wire.until(lambda: wire.log_start(topic) == end, within=WITHIN_S, what="retention deletes all that is old")

    def _write(self, what, *values, **how):
        topic, end, isolation = self.ends[what]
        answer = self.wire.produce(topic, batch(*values, **how))
        if answer.error == errors.INVALID_TIMESTAMP:
            self.wire.not_applicable("the broker takes no records with old times", "unsupported")
        answer.must_be_at(end)
        self.ends[what] = topic, end + len(values), isolation

    def _transaction(self, what, producer):
        topic = self.ends[what][0]
        producer.send(topic, "of a transaction").must_be_at(0)
        end = 0  # a reader of committed records sees nothing of what is open
        if what != "open":
            (producer.commit() if what == "committed" else producer.abort()).must_succeed()
            self.wire.await_settled(topic)
            end = 2
        self.ends[what] = topic, end, COMMITTED
        self.producers[what] = producer

    def _fetch(self, what, wait_ms, wait=True):
        topic, end, isolation = self.ends[what]
        return self.wire.fetch(
            topic, offset=end, isolation=isolation, max_wait_ms=wait_ms, min_bytes=1, via=f"reader of {what}", wait=wait
        )

    def must_wait(self, what):
        self._must_have_waited(self._fetch(what, SHORT_MS).must_be_empty())

    def must_wait_for_all(self):
        """One fetch for those that the same node leads."""
        node = self.wire.leader(self.ends["written"][0])
        plain = {
            (topic, 0): end
            for topic, end, isolation in self.ends.values()
            if isolation != COMMITTED and self.wire.leader(topic) == node
        }
        waited = self.wire.fetch_many(plain, max_wait_ms=SHORT_MS)
        for place in plain:
            waited.of(*place).must_be_empty()
        self._must_have_waited(waited)

    def _must_have_waited(self, waited):
        took = waited.took_ms
        waited.must(took >= 0.9 * SHORT_MS, f"it came back empty after {took:.0f} ms; it must wait for {SHORT_MS} ms")
        self.wire.at_once(waited, asked_s=SHORT_MS / 1_000)

    def must_be_woken(self, what):
        """By a record, or by the end of the transaction that hides one."""
        waiting = self._fetch(what, LONG_MS, wait=False)
        topic, end, _ = self.ends[what]
        if what == "open":
            ended = self.producers[what].commit().must_succeed()
            waiting.must_hold("of a transaction")
        else:
            ended = self.wire.produce(topic, batch("new")).must_be_at(end)
            waiting.must_hold("new")
        self.wire.at_once(waiting, after=ended, hidden_s=LONG_MS / 1_000)
