"""Segments that end sooner since segment.ms or segment.bytes was changed: what is in them can be compacted."""

from functools import partial

from brokertrial.suites.case import case
from brokertrial.suites.cases.compaction.survivors import DAY_MS, WITHIN_S, awaited, cleanable
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import SET, TOPIC

LONG = {"segment.ms": str(10 * DAY_MS), "segment.bytes": "100000000"}
LIMITS = {"time": ("segment.ms", "60000"), "size": ("segment.bytes", "1048576")}
RECORDS, BYTES = 4, 400_000


@case(
    "compaction/ends-by-what-is-set-now",
    guarantees=["comp-001", "comp-004"],
    apis={"IncrementalAlterConfigs": 0},
    needs=["topic-settings", "compaction"],
    detects=["Z26"],
)
def a_segment_ends_by_the_limits_of_now(wire, topic_of, rng):
    """The newest segment MUST end by the segment.ms and segment.bytes that are in force when a batch comes, not by
    those of its beginning: what is superseded in it is then compacted.

    Two topics, each with four records of one key in one segment, of which one limit is then changed; a third, which had
    short segments from the start, shows that the cleaner has come by.
    """
    topics = {what: cleanable(wire, partial(topic_of, what=what), **LONG) for what in LIMITS}
    topics["control"] = cleanable(wire, partial(topic_of, what="control"))
    began = wire.now_ms() - DAY_MS
    for topic in topics.values():
        for number in range(RECORDS):
            wire.produce(topic, _record(rng, began + 3_600_000 * number)).must_be_at(number)
    for what, (name, value) in LIMITS.items():
        wire.change_configs(TOPIC, topics[what], [(name, SET, value)]).must_succeed()
        wire.eventually(lambda what=what, name=name, value=value: _is_set(wire, topics[what], name, value), within=10)
    for topic in topics.values():
        for number in (0, 1):
            wire.produce(topic, _record(rng, wire.now_ms() - 3_600_000 + 600_000 * number, key=b"end")).must_succeed()
    if not awaited(wire, topics["control"], b"k0", WITHIN_S):
        never = f"nothing was cleaned within {WITHIN_S} s; compaction/cleaned-at-all decides whether that is a failure"
        wire.not_applicable(never, "too-slow-here")
    for what, (name, value) in LIMITS.items():
        if not awaited(wire, topics[what], b"k0", WITHIN_S):
            log = wire.read_all(topics[what])
            found = [record.key for record in log.records].count(b"k0")
            log.must(False, f"{name} became {value}, and its newest segment goes on: k0 still has {found} records")


def _record(rng, time, key=b"k0"):
    return batch(rng.randbytes(BYTES), key=key, timestamp=time)


def _is_set(wire, topic, name, value):
    answer = wire.describe_configs(TOPIC, topic, [name]).must_succeed()
    answer.must_have("results[0].configs[0].value", value)
    if wire.case_context.has_zookeeper:  # it is described by any broker before the leader has heard of it
        wire.rest(1)
