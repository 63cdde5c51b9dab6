"""Records deleted by request: partitions of several topics at once, in drawn ways, over restarts (KIP-107)."""

from itertools import pairwise

from brokertrial.suites.case import case
from brokertrial.suites.cases.retention.limits import CHECKS, WITHIN_S
from brokertrial.suites.probe import COMMITTED, batch
from brokertrial.suites.probe.admin import SET, TOPIC
from brokertrial.suites.probe.answer import Response
from brokertrial.wire import errors
from brokertrial.wire.messages import request
from brokertrial.wire.records import Record

STEP_MS, HOUR_MS = 120_000, 3_600_000
KEPT = {
    "retention.ms": "-1",
    "min.insync.replicas": "1",
    "min.compaction.lag.ms": str(10**12),
    "segment.ms": str(2 * STEP_MS),
}
"""Nothing goes by itself, and each third step of writing begins a segment."""
POLICIES = {"t": "delete", "u": "compact,delete", "c": "compact"}
REQUESTS = 12
LOG_START_SINCE, IN_PRODUCE_SINCE = 5, 5
HIGHEST = (1 << 63) - 1
SETTLED_S = 20


class TrimmedLog:
    """One partition: where its batches begin, its start, its end, and where a transaction is open."""

    def __init__(self, place, policy):
        self.place, self.policy = place, policy
        self.start = self.end = 0
        self.bases, self.open = [], None

    def stable(self):
        """The least and the largest last stable offset: where an open transaction has lost its first records, it lies
        at the log's start, or at the batch that holds it."""
        if self.open is None:
            return self.end, self.end
        if self.open >= self.start:
            return self.open, self.open
        return max((base for base in self.bases if base <= self.start), default=self.start), self.start


@case(
    "retention/deleted-in-every-way",
    guarantees=["adm-011", "offs-001", "fetch-005", "fetch-014"],
    apis={"DeleteRecords": 0, "InitProducerId": 0, "IncrementalAlterConfigs": 0, "ListOffsets": 2, "Fetch": 4},
    needs=["topic-settings", "partitions", "leaders", "terminate", "restart"],
    detects=["M40h", "P10", "F03", "F04"],
)
def each_partition_begins_where_it_was_asked_to(wire, topic_of, rng, nodes):
    """Whatever DeleteRecords names, in each version, each partition MUST be answered with its low watermark or with its
    own error and no low watermark. It MUST begin there from then on and hold everything behind it, and a refused one
    MUST stay as it was: an offset beyond the high watermark or below -1, a topic that is only compacted, one that does
    not exist.

    Two partitions of each of three topics; a transaction is open now and then; retention shortens a log in the end, and
    between the requests the leader is stopped twice.
    """
    wire.needs_setting(CHECKS, at_most=5_000)
    logs = DrawnDeletions(wire, topic_of, rng)
    for number in range(REQUESTS):
        logs.write()
        logs.delete()
        logs.must_be_returned()
        if number in (REQUESTS // 3, 2 * REQUESTS // 3):
            logs.must_survive(nodes)
    logs.retain()
    for _ in range(3):
        logs.delete()
        logs.must_be_returned()
    logs.must_survive(nodes)


class DrawnDeletions:
    """The logs of one node, which are there alone so that no leader moves; the steps, and the questions."""

    def __init__(self, wire, topic_of, rng):
        self.wire, self.rng, self.clock = wire, rng, wire.now_ms() - 8 * HOUR_MS
        topics = {
            what: topic_of(
                what=what, partitions=2 * len(wire.nodes), replicas=1, configs={**KEPT, "cleanup.policy": policy}
            )
            for what, policy in POLICIES.items()
        }
        self.topics = list(topics.values())
        node = wire.leader(self.topics[0])
        self.logs = [
            TrimmedLog((topic, partition), POLICIES[what])
            for what, topic in topics.items()
            for partition in [each for each in wire.known_partitions(topic) if wire.leader(topic, each) == node][:2]
        ]
        self.producer = wire.producer(wire.name("x"), timeout_ms=600_000)

    def write(self):
        """Two batches to each of some logs; a transaction begins or ends."""
        for log in self.rng.sample(self.logs, 4):
            for _ in range(2):
                self._written(log, transactional=self.rng.random() < 0.25)
        if self.rng.random() < 0.5:
            self.finish()

    def _written(self, log, *, transactional):
        self.clock += STEP_MS
        count = self.rng.randint(1, 4)
        records = [Record(b"k", b"%d" % at, (), self.clock + at) for at in range(count)]
        if transactional:
            sent = self.producer.send(log.place[0], partition=log.place[1], records=records)
            log.open = log.end if log.open is None else log.open
        else:
            sent = self.wire.produce(log.place[0], batch(records=records), log.place[1])
        sent.must_be_at(log.end)
        if sent.version >= IN_PRODUCE_SINCE:
            start = sent.log_start_offset
            sent.must(start == log.start, f"the log is said to begin at {start}; it must at {log.start}", "responses")
        log.bases.append(log.end)
        log.end += count

    def finish(self):
        mine = [log for log in self.logs if log.open is not None]
        if not mine:
            return
        (self.producer.commit() if self.rng.random() < 0.5 else self.producer.abort()).must_succeed()
        for log in mine:
            log.bases.append(log.end)
            log.open, log.end = None, log.end + 1
            self.wire.eventually(lambda log=log: self._must_end(log), within=SETTLED_S)

    def _must_end(self, log):
        self.wire.list_offsets(*log.place).must_name(offset=log.end)
        answer = self.wire.list_offsets(*log.place, isolation=COMMITTED)
        least, most = log.stable()
        right = least <= answer.offset <= most
        answer.must(right, f"the last stable offset is {answer.offset}; it must be {least} to {most}", "topics")

    # -- deletions -------------------------------------------------------------------------------------------

    def delete(self):
        """One request of one to six rows, good and bad ones mixed; a bad one changes nothing for the others."""
        rng, unknown = self.rng, (self.wire.name("nowhere"), 0)
        rows = [(log.place, self._offset(log)) for log in rng.sample(self.logs, rng.randint(1, 6))]
        rows += [(place, rng.choice((0, -1, 5))) for place in (unknown, (self.topics[0], 99)) if rng.random() < 0.3]
        rng.shuffle(rows)
        answer = self._asked(rows)
        results = {
            (topic.name, part.partition_index): (part.error_code, part.low_watermark)
            for topic in answer.struct.topics
            for part in topic.partitions
        }
        named = sum(len(topic.partitions) for topic in answer.struct.topics)
        whole = named == len(results) and results.keys() == {place for place, _ in rows}
        answer.must(whole, f"it answers for {sorted(results)} in {named} rows; it must for {sorted(rows)}", "topics")
        by_place = {log.place: log for log in self.logs}
        for place, asked in rows:
            self._must_be_right(answer, by_place.get(place), asked, results[place])

    def _offset(self, log):
        """From anywhere in the log or around it."""
        low, high = self.rng.randint(log.start, log.end), self.rng.choice((log.start, log.end))
        around = (-1, -1, 0, log.start - 1, high, low, low, min(log.start + 1, log.end), log.open or low)
        beyond = (-2, -5, -HIGHEST, log.end + 1, log.end + 1_000, HIGHEST)
        return self.rng.choice(around) if self.rng.random() < 0.75 else self.rng.choice(beyond)

    def _asked(self, rows):
        topics: dict[str, list[dict[str, int]]] = {}
        for (topic, partition), offset in rows:
            topics.setdefault(topic, []).append({"partition_index": partition, "offset": offset})
        named = [{"name": topic, "partitions": parts} for topic, parts in topics.items()]
        asked = request("DeleteRecords", timeout_ms=20_000, topics=named)
        version = self.rng.choice(self.wire.versions("DeleteRecords"))
        to = self.wire.leader(*self.logs[0].place)
        return self.wire.ask_as(Response, asked, version=version, to=to, may_take_s=20)

    def _must_be_right(self, answer, log, asked, result):
        code = self._error(log, asked)
        if code:
            said = f"asked for {asked} error and low watermark are {result}; they must be {(code, -1)}"
            answer.must(result == (code, -1), said, "topics")
            return
        log.start = max(log.start, log.end if asked == -1 else asked)
        right = result == (0, log.start)
        answer.must(right, f"asked for {asked} error and low watermark are {result}; it must be {log.start}", "topics")

    def _error(self, log, asked):
        if log is None:
            return errors.UNKNOWN_TOPIC_OR_PARTITION
        if log.policy == "compact":
            return errors.POLICY_VIOLATION
        return 0 if -1 <= asked <= log.end else errors.OFFSET_OUT_OF_RANGE

    def retain(self):
        """Retention takes all that the first topic holds, markers too, which are of now; then it is off again."""
        self.finish()
        topic = self.topics[0]
        for limit, at_end in (("1", True), ("-1", False)):
            self.wire.change_configs(TOPIC, topic, [("retention.ms", SET, limit)]).must_succeed()
            for log in self.logs if at_end else ():
                if log.place[0] == topic:
                    what = "all records are too old and go"
                    self.wire.until(
                        lambda log=log: self.wire.log_start(*log.place) == log.end, within=WITHIN_S, what=what
                    )
                    log.start = log.end

    def must_survive(self, nodes):
        """A clean stop: log start, end and last stable offset stay.

        No transaction is open: Apache Kafka forgets producers over it where all records were deleted.
        """
        self.finish()
        nodes.stop_and_start(nodes.of(*self.logs[0].place))
        for topic in self.topics:
            self.wire.await_topic(topic)
        for log in self.logs:
            self.wire.eventually(lambda log=log: self._must_end(log), within=SETTLED_S)
        self.must_be_returned()

    def must_be_returned(self):
        """Both ends by ListOffsets and by Fetch, what lies below the start, and all that is behind it."""
        for log in self.logs:
            self.wire.list_offsets(*log.place, at="earliest").must_name(offset=log.start)
            self._must_end(log)
            answer = self.wire.fetch(*log.place, offset=log.start, isolation=COMMITTED, max_wait_ms=0)
            least, most = log.stable()
            found = (answer.high_watermark, answer.last_stable_offset)
            right = found[0] == log.end and least <= found[1] <= most
            answer.must(right, f"end and stable offset are {found}; they must be {log.end} and {least} to {most}")
            if answer.version >= LOG_START_SINCE:
                start = answer.log_start_offset
                answer.must(start == log.start, f"it is said to begin at {start}; it must at {log.start}")
            if log.start:
                below = self.wire.fetch(*log.place, offset=self.rng.randrange(log.start), max_wait_ms=0)
                self._must_be_gone(below)
        log = self.rng.choice(self.logs)
        held = [part.header.base_offset for part in self.wire.read_all(*log.place, offset=log.start).batches]
        due = [base for base, end in pairwise([*log.bases, log.end]) if end > log.start]
        self.wire.must(held == due, f"from {log.start} on batches begin at {held}; they must at {due}")

    def _must_be_gone(self, below):
        below.must_be_refused(errors.OFFSET_OUT_OF_RANGE)
        row = below.at("responses[0].partitions[0]")
        reported = (row.high_watermark, row.last_stable_offset, row.log_start_offset, len(row.records or b""))
        below.must(reported == (-1, -1, -1, 0), f"refused, it reports end, stable offset, start and bytes {reported}")
