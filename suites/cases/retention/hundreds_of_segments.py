"""A log of hundreds of segments, of which many go at a time, by request and by their age."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.retention.limits import CHECKS, HOUR_MS, WITHIN_S
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import SET, TOPIC
from brokertrial.wire import errors

SEGMENTS, LOOKS, JITTER_MS = 150, 12, 20_000
SMALL = {"segment.ms": "60000", "index.interval.bytes": "1", "retention.ms": "-1"}


@case(
    "retention/hundreds-of-segments",
    guarantees=["ret-001", "ret-004", "adm-011", "offs-002", "fetch-015"],
    apis={"DeleteRecords": 0, "IncrementalAlterConfigs": 0, "ListOffsets": 1},
    needs=["topic-settings", "kill", "terminate", "restart"],
    detects=["B299"],
)
def many_go_and_the_rest_stays(wire, topic_of, nodes, rng):
    """However many segments a log has, each offset MUST be readable from the one asked for to the end, each time MUST
    lead to the first record that is not older, and, when a third of them is deleted by request and another third is too
    old, those MUST go and all others stay: at once, and after a stop or a kill.

    150 segments, an hour apart, of one to three records whose times are in disorder. Behind a deletion by request comes
    a stop: Apache Kafka writes down only now and then what was deleted so, and a kill may bring it back.
    """
    wire.needs_setting(CHECKS, at_most=5_000)
    topic = topic_of(configs=SMALL)
    log = Log(wire, topic, rng)
    log.fill(wire.now_ms() - (SEGMENTS + 5) * HOUR_MS)
    log.must_be_there()
    log.delete_to_the_middle_of(SEGMENTS // 3)
    log.must_be_there()
    _restart(wire, topic, nodes.stop_and_start, nodes)
    log.must_be_there()
    log.expire(SEGMENTS * 2 // 3)
    log.must_be_there()
    _restart(wire, topic, rng.choice((nodes.stop_and_start, nodes.crash)), nodes)
    log.must_be_there()


def _restart(wire, topic, act, nodes):
    act(nodes.of(topic))
    wire.await_topic(topic)


class Log:
    """The times of its records, and where it begins."""

    def __init__(self, wire, topic, rng):
        self.wire, self.topic, self.rng = wire, topic, rng
        self.times: list[int] = []
        self.bases: list[int] = []
        self.start = 0

    def fill(self, begin):
        answers = []
        for number in range(SEGMENTS):
            self.bases.append(len(self.times))
            at = begin + number * HOUR_MS
            times = [at, *(at + self.rng.randint(0, JITTER_MS) for _ in range(self.rng.randint(0, 2)))]
            answers.append((len(self.times), self.wire.produce(self.topic, batch(at=times), wait=False)))
            self.times += times
        if answers[0][1].error == errors.INVALID_TIMESTAMP:
            self.wire.not_applicable("the broker takes no records with old times", "unsupported")
        for offset, answer in answers:
            answer.must_be_at(offset)

    def delete_to_the_middle_of(self, segment):
        self.start = self.bases[segment + 1] - 1
        self.wire.delete_records(self.topic, offset=self.start).must_succeed()

    def expire(self, segment):
        """All before it are older by half an hour and more than the limit, which is in force for long."""
        self.start = self.bases[segment]
        oldest = self.wire.now_ms() - self.times[self.start] + HOUR_MS // 2
        self.wire.change_configs(TOPIC, self.topic, [("retention.ms", SET, str(oldest))]).must_succeed()
        self.wire.until(
            lambda: self.wire.log_start(self.topic) >= self.start,
            within=WITHIN_S,
            what=f"the log start comes to {self.start}, the first of its segment {segment}",
        )

    def must_be_there(self):
        end = len(self.times)
        self.wire.list_offsets(self.topic, at="earliest").must_name(offset=self.start)
        for offset in (self.start, end - 1, *self.rng.sample(range(self.start, end), LOOKS)):
            self.wire.read_all(self.topic, offset=offset).must_have_offsets(range(offset, end))
        for offset in self.rng.sample(range(self.start, end), LOOKS):
            time = self.times[offset] - self.rng.choice((0, 1, HOUR_MS // 2))
            due = next(each for each in range(self.start, end) if self.times[each] >= time)
            self.wire.list_offsets(self.topic, at=time).must_name(offset=due, timestamp=self.times[due])
