"""Topics that were written to before they became compacted, with records that a compacted topic would refuse."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.compaction.survivors import WITHIN_S, awaited, cleanable, write
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import SET, TOPIC
from brokertrial.wire.records import Record

HOUR_MS, ROUNDS, KEPT_OF_EACH = 3_600_000, 4, 1
KEYS = (b"k0", b"k1", b"k2")


@case(
    "compaction/keyless-records-of-before",
    guarantees=["comp-001", "comp-009"],
    level="must",
    apis={"IncrementalAlterConfigs": 0},
    needs=["topic-settings", "compaction"],
    detects=["B78"],
)
def no_record_without_a_key_ends_the_cleaning(wire, topic_of, rng):
    """A topic that becomes compacted while it holds records without keys MUST be cleaned: of each key its latest record
    stays. Others MUST be cleaned as before, one that became dirty at the same time and one that does so afterwards.
    """
    mixed = cleanable(wire, topic_of, **{"cleanup.policy": "delete", "retention.ms": "-1"})
    start = wire.now_ms() - 48 * HOUR_MS
    for number in range(rng.randint(1, 3)):
        rows = [Record(key, b"%d" % number, (), start) for key in rng.sample((None, None, b"k0"), 3)]
        wire.produce(mixed, batch(records=rows)).must_succeed()
    beside = cleanable(wire, topic_of)
    for topic in (mixed, beside):
        write(wire, topic, ROUNDS)
    wire.change_configs(TOPIC, mixed, [("cleanup.policy", SET, "compact")]).must_succeed()
    for what, topic in (("with records without keys", mixed), ("beside it", beside)):
        with wire.part(f"the topic {what}"):
            _must_be_cleaned(wire, topic)
    after = cleanable(wire, topic_of)
    write(wire, after, ROUNDS)
    with wire.part("a topic that is written to afterwards"):
        _must_be_cleaned(wire, after)


def _must_be_cleaned(wire, topic):
    log = awaited(wire, topic, b"k0", WITHIN_S)
    wire.must(log is not None, f"nothing was cleaned within {WITHIN_S} s")
    keys = [record.key for record in log.records]
    for key in KEYS:
        log.must(keys.count(key) == KEPT_OF_EACH, f"{key!r} has {keys.count(key)} records; its latest one stays")
