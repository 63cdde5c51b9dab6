"""Topics that are compacted and deleted (`compact,delete`) and outgrow retention.bytes (KIP-71)."""

from functools import partial

from brokertrial.suites.case import case
from brokertrial.suites.cases.retention.compact_and_delete import NOT_YET
from brokertrial.suites.cases.retention.limits import CHECKS, HOUR_MS, WITHIN_S
from brokertrial.suites.probe import batch

SEGMENT, LARGE, RECORDS = 1_048_576, 700_000, 8
"""One record to a segment: two do not fit."""
LIMIT = 2_500_000
STARTS = (RECORDS - 4, RECORDS - 3)
"""Four segments are a little more than the limit; with three the log is below it. Kafka keeps four."""
BOTH = {
    "cleanup.policy": "compact,delete",
    "segment.bytes": str(SEGMENT),
    "segment.ms": str(100 * HOUR_MS),
    "retention.bytes": str(LIMIT),
    "retention.ms": "-1",
}
SOON = {"min.compaction.lag.ms": "0", "min.cleanable.dirty.ratio": "0.001"}


@case(
    "retention/compacted-and-deleted-by-size",
    guarantees=["ret-002", "ret-003", "ret-004"],
    needs=["topic-settings"],
    detects=["B345"],
)
def a_topic_that_is_compacted_too_keeps_to_its_size(wire, topic_of, rng):
    """A topic that is compacted and deleted MUST lose its oldest segments once it is larger than retention.bytes by
    more than these hold, though each record is the latest of its key, whether its cleaner has work or not. It MUST keep
    the others; one that is compacted alone MUST keep all.

    Eight segments of 0.7 MB, and a limit of 2.5 MB.
    """
    wire.needs_setting(CHECKS, at_most=5_000)
    topics = {
        "not compacted yet": topic_of(configs={**BOTH, **NOT_YET}),
        "compacted soon": topic_of(configs={**BOTH, **SOON}, what="soon"),
        "compacted alone": topic_of(configs={**BOTH, "cleanup.policy": "compact"}, what="alone"),
    }
    for number in range(RECORDS):
        for topic in topics.values():
            wire.produce(topic, batch(rng.randbytes(LARGE), key=b"%d" % number)).must_be_at(number)
    for what, topic in topics.items():
        with wire.part(what):
            starts = (0,) if what == "compacted alone" else STARTS
            wire.eventually(partial(_must_begin_at_one_of, wire, topic, starts), within=WITHIN_S)
            log = wire.read_all(topic)
            whole = [list(range(start, RECORDS)) for start in starts]
            log.must(log.offsets in whole, f"the offsets are {log.offsets}; they must be one of {whole}")
            keys = [record.key for record in log.records]
            log.must(keys == [b"%d" % offset for offset in log.offsets], f"the keys are {keys}")


def _must_begin_at_one_of(wire, topic, starts):
    answer = wire.list_offsets(topic, at="earliest")
    answer.must(answer.offset in starts, f"the log begins at {answer.offset}; it must be {starts}", "topics")
