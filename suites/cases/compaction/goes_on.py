"""Cleaners that go on, whatever lies in a log: what they stumble over must not leave logs dirty for good."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.compaction.survivors import COMPACT, awaited, cleanable
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import SET, TOPIC
from brokertrial.wire.records import Record

NEVER_S, KEYS, LARGE, SEGMENT_MS = 60, 4, 5_000, 1_000
BACKOFF, RATIO = "log.cleaner.backoff.ms", "min.cleanable.dirty.ratio"
LIMIT, POLICY, SPENT = "max.message.bytes", "cleanup.policy", "delete.retention.ms"
HAPPENS = (
    "limit lowered",
    "cut within a segment",
    "cut to the end",
    "aborted",
    "committed",
    "overtaken",
    "deleted in between",
    "nothing but tombstones",
    "another is deleted",
    "created again",
    "not compacted for a while",
)


@case(
    "compaction/goes-on-whatever-happened",
    guarantees=["comp-001", "comp-009", "comp-003"],
    needs=["topic-settings", "compaction", "started"],
    apis={"DeleteRecords": 0, "DeleteTopics": 1, "EndTxn": 0, "IncrementalAlterConfigs": 0},
    detects=["Z35"],
)
def a_log_is_cleaned_again_and_again(wire, topic_of, transactional_id, rng):
    """A log that is to be compacted and is dirty MUST be cleaned, also after any of these happened to it or to another:
    max.message.bytes was lowered below what it holds, records were deleted up to the middle of a segment or to its end,
    transactions were committed and aborted and all their records overtaken, the last batch of an idempotent producer
    was overtaken, a segment holds nothing but tombstones, its policy was another for a while, a dirty topic was
    deleted, it was deleted itself and created again under its name.

    On a target that the suite started, whose cleaner looks every few seconds. All eleven in a drawn order, each on one
    of two logs; after each of them new records of the same keys overtake what is left of the older ones in both.
    """
    producer = wire.producer(transactional_id)
    plain = wire.producer()
    settings = {POLICY: "compact,delete", SPENT: "0", "segment.ms": str(SEGMENT_MS), RATIO: "0.0"}
    first, other = (LogToClean(wire, cleanable(wire, topic_of, **settings)) for _ in range(2))
    _must_be_cleaned(wire, (first, other), "it was made")
    for what in rng.sample(HAPPENS, len(HAPPENS)):
        log = rng.choice((first, other))
        _happens(wire, what, log, producer, plain, settings, lambda: cleanable(wire, topic_of, **settings))
        _must_be_cleaned(wire, (log, first if log is other else other), what)


def _happens(wire, what, log, producer, plain, settings, new_topic):
    match what:
        case "limit lowered":
            log.put(b"large", b"x" * LARGE)
            wire.change_configs(TOPIC, log.topic, [(LIMIT, SET, str(LARGE // 2))]).must_succeed()
        case "cut within a segment" | "cut to the end":
            log.put_each(b"before")
            _pass(wire, SEGMENT_MS)
            log.put(b"k0", b"a", b"b", b"c")
            end = wire.log_end(log.topic)
            wire.delete_records(log.topic, offset=end if what == "cut to the end" else end - 1).must_succeed()
            _pass(wire, 2 * int(wire.setting(BACKOFF) or SEGMENT_MS) + SEGMENT_MS)  # the cleaner looks at it as it is
        case "aborted" | "committed":
            producer.send(log.topic, b"of a transaction", key=b"k1").must_succeed()
            producer.abort() if what == "aborted" else producer.commit()
            wire.await_settled(log.topic)
        case "overtaken":
            plain.send(log.topic, b"of a producer", key=b"k2").must_succeed()
        case "deleted in between":
            log.put(b"k3", None)
        case "nothing but tombstones":
            for number in range(KEYS):
                log.put(b"k%d" % number, None, None)
        case "another is deleted":
            dirty = LogToClean(wire, new_topic())
            for _ in range(2):
                dirty.put_each(b"soon gone")
            wire.delete_topic(dirty.topic).must_succeed()
        case "created again":
            end = wire.log_end(log.topic)
            wire.delete_topic(log.topic).must_succeed()
            wire.await_deleted()
            wire.create_topic(log.topic, configs={**COMPACT, **settings}).must_succeed()
            wire.await_topic(log.topic)
            log.keys.append(b"again")
            log.put(b"again", b"1", b"2")  # below the end that it had
            log.put_all([(b"once %d" % number, b"") for number in range(end)])
        case "not compacted for a while":
            wire.change_configs(TOPIC, log.topic, [(POLICY, SET, "delete")]).must_succeed()
            log.put(b"k0", b"not compacted")
            wire.change_configs(TOPIC, log.topic, [(POLICY, SET, "compact,delete")]).must_succeed()


class LogToClean:
    """A topic whose segments are old after a second."""

    def __init__(self, wire, topic):
        self.wire, self.topic = wire, topic
        self.keys = [b"k%d" % number for number in range(KEYS)]

    def put(self, key, *values):
        """One batch."""
        self.put_all([(key, value) for value in values])

    def put_each(self, value):
        """One batch with every key."""
        self.put_all([(b"k%d" % number, value) for number in range(KEYS)])

    def put_all(self, pairs):
        time = self.wire.now_ms()
        records = [Record(key, value, (), time) for key, value in pairs]
        self.wire.produce(self.topic, batch(records=records)).must_succeed()


def _pass(wire, milliseconds):
    began_ms = wire.now_ms()
    wire.until(lambda: wire.now_ms() > began_ms + milliseconds, within=30, what="time has passed")


def _must_be_cleaned(wire, logs, since):
    """Every key twice, in two segments, and one more record, whose segment stays as it is."""
    for value in (b"1", b"2", b"end"):
        _pass(wire, SEGMENT_MS)
        for log in logs:
            log.put(b"end", b"") if value == b"end" else log.put_each(value)
    for log, where in zip(logs, ("", " (of another topic)"), strict=True):
        for key in log.keys:
            if awaited(wire, log.topic, key, NEVER_S) is None:
                read = wire.read_all(log.topic)
                found = [record.key for record in read.records].count(key)
                said = f"since {since}{where} it is not cleaned: after {NEVER_S} s {key!r} has {found} records"
                read.must(False, said)
