"""Topics that ask for no limit where the brokers have one: a topic's own value counts, -1 and the largest, too."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.retention.limits import CHECKS, HOUR_MS, WITHIN_S
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import BROKER, DELETE, SET, TOPIC
from brokertrial.wire import errors

ALL, DAY_MS, MINUTE = "", 24 * HOUR_MS, "60000"
LARGEST, LARGEST_INT = str((1 << 63) - 1), str((1 << 31) - 1)
SIZE, AGE, SEGMENT, RECORD = "retention.bytes", "retention.ms", "segment.ms", "max.message.bytes"
BEFORE, AFTER = "message.timestamp.before.max.ms", "message.timestamp.after.max.ms"
LIMITS = {
    SIZE: ("log.retention.bytes", "1", ("-1", LARGEST)),
    AGE: ("log.retention.ms", str(4 * HOUR_MS), ("-1", LARGEST)),
    SEGMENT: ("log.roll.ms", MINUTE, (LARGEST,)),
    RECORD: ("message.max.bytes", "3000", (LARGEST_INT,)),
    BEFORE: (f"log.{BEFORE}", str(12 * HOUR_MS), (LARGEST,)),
    AFTER: (f"log.{AFTER}", str(HOUR_MS), (LARGEST,)),
}
"""Setting of topics -> that of brokers, the limit that it is given, and what a topic says that has none."""
OTHERS = {"cleanup.policy": "delete", "message.timestamp.type": "CreateTime", "segment.bytes": "100000000"}
HOURS, LARGE = (9, 8, 7, 6, 3, 2, 1), "x" * 5_000
STARTS = {SIZE: len(HOURS) - 1, AGE: 4, SEGMENT: len(HOURS) - 1}
"""Where the log of a topic begins that inherits this limit."""


@case(
    "admin/no-limits-of-their-own",
    guarantees=["ret-009", "ret-003", "adm-010"],
    apis={"DescribeConfigs": 1, "IncrementalAlterConfigs": 0},
    needs=["settings", "started", "topic-settings"],
    detects=["B176", "B180"],
)
def a_topic_that_asks_for_no_limit_has_none(wire, rng):
    """A topic whose own setting says that there is no limit, with -1 or the largest value, MUST have none, whatever
    limit all brokers have: its records stay, however old and many, a segment does not end for its time, and a record is
    taken however large, old or new. A topic without a value of its own has the limit of the brokers.

    The brokers get limits of size, age, time of a segment, size of a record and its time to either side. Of four topics
    without limits two were made so and two are altered, before the brokers or after them; in a fifth no segment
    ends. For each limit another topic inherits that one alone.
    """
    wire.needs_setting(CHECKS, at_most=5_000)
    asked = wire.describe_configs(BROKER, str(wire.nodes[0]), [row[0] for row in LIMITS.values()]).must_succeed()
    known = {row.name for row in asked.at("results[0].configs")}
    limits = {name: row for name, row in LIMITS.items() if row[0] in known}
    topics = _Topics(wire, rng, limits)
    free = [topics.without_limits(0), topics.altered_to_none(0)]
    try:
        _all_brokers_have(wire, {name: value for name, value, _ in limits.values()})
        free += [topics.without_limits(1), topics.altered_to_none(1)]
        whole = topics.made({**topics.values(), SEGMENT: LARGEST, SIZE: "1"})
        for topic in (whole, *free):
            topics.fill(topic)
        for topic in free:
            wire.produce(topic, batch("old", timestamp=topics.now - 400 * DAY_MS)).must_be_at(len(HOURS))
            wire.produce(topic, batch("new", timestamp=topics.now + 2 * DAY_MS)).must_be_at(len(HOURS) + 1)
        topics.must_inherit()
        for topic, count in ((whole, len(HOURS)), *((each, len(HOURS) + 2) for each in free)):
            with wire.part(topics.described[topic]):
                wire.list_offsets(topic, at="earliest").must_name(offset=0)
                wire.read_all(topic).must_have_offsets(range(count))
    finally:
        wire.change_configs(BROKER, ALL, [(name, DELETE, None) for name, _, _ in limits.values()])


def _all_brokers_have(wire, settings):
    wire.change_configs(BROKER, ALL, [(name, SET, value) for name, value in settings.items()]).must_succeed()
    for node in wire.nodes:
        wire.eventually(lambda node=node: _must_have(wire, BROKER, str(node), settings), within=WITHIN_S)


def _must_have(wire, kind, name, settings):
    answer = wire.describe_configs(kind, name, list(settings)).must_succeed()
    found = {row.name: row.value for row in answer.at("results[0].configs")}
    answer.must(found == settings, f"the settings are {found}; they were set to {settings}", "results[0].configs")


class _Topics:
    """The topics of the case."""

    def __init__(self, wire, rng, limits):
        self.wire, self.rng, self.limits = wire, rng, limits
        self.now, self.described = wire.now_ms(), {}
        self.first = {name: rng.randrange(2) for name in limits}

    def values(self, turn=0):
        """No limits, but segments of a minute; of two ways to say it one in each turn."""
        found = {name: none[(self.first[name] + turn) % len(none)] for name, (_, _, none) in self.limits.items()}
        return {**found, SEGMENT: MINUTE}

    def made(self, values):
        topic = self.wire.name("topic")
        self.wire.create_topic(topic, configs={**OTHERS, **values}).must_succeed()
        self.wire.await_topic(topic)
        self.described[topic] = f"made with {AGE}={values.get(AGE)}, {SIZE}={values.get(SIZE)}"
        return topic

    def without_limits(self, turn):
        return self.made(self.values(turn))

    def altered_to_none(self, turn):
        """A topic that had each limit of the brokers, as its own."""
        topic, values = self.made({name: limit for name, (_, limit, _) in self.limits.items()}), self.values(turn)
        rows = [(name, SET, value) for name, value in values.items()]
        self.wire.change_configs(TOPIC, topic, rows).must_succeed()
        self.wire.eventually(lambda: _must_have(self.wire, TOPIC, topic, values), within=WITHIN_S)
        self.described[topic] = f"altered to {AGE}={values.get(AGE)}, {SIZE}={values.get(SIZE)}"
        return topic

    def fill(self, topic):
        """A batch an hour."""
        for number, hours in enumerate(HOURS):
            self.wire.produce(topic, batch(LARGE, timestamp=self.now - hours * HOUR_MS)).must_be_at(number)

    def must_inherit(self):
        """Topics that have one limit each: too much goes, or is refused; one more shows that all was looked at."""
        rows = {name: self._inherits(name) for name in self.limits}
        cut = [(name, topic, STARTS[name]) for name, topic in rows.items() if name in STARTS]
        for _, topic, _ in cut:
            self.fill(topic)
        refused = {
            RECORD: (batch(LARGE), errors.MESSAGE_TOO_LARGE),
            BEFORE: (batch("old", timestamp=self.now - 400 * DAY_MS), errors.INVALID_TIMESTAMP),
            AFTER: (batch("new", timestamp=self.now + 2 * DAY_MS), errors.INVALID_TIMESTAMP),
        }
        for name, (made, code) in refused.items():
            if name in rows:
                with self.wire.part(f"inherits {name}"):
                    self.wire.produce(rows[name], made).must_be_refused(code)
        for name, topic, start in cut:
            self._must_begin(name, topic, start)
        last = self._inherits(SIZE)
        self.fill(last)
        self._must_begin(SIZE, last, STARTS[SIZE])

    def _must_begin(self, name, topic, start):
        at = f"the log of a topic that inherits {name} begins at {start}"
        self.wire.until(lambda: self.wire.log_start(topic) >= start, within=WITHIN_S, what=at)

    def _inherits(self, name):
        others = {key: value for key, value in self.values().items() if key != name}
        return self.made({**others, SIZE: "1"} if name == SEGMENT else others)
