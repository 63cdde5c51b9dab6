"""Segments that compaction leaves nothing of, one behind the other, and that no two of fit into one."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.compaction.large_segments import SEGMENT, must_be_read_from_everywhere
from brokertrial.suites.cases.compaction.survivors import HOUR_MS, cleanable, cleaned
from brokertrial.suites.probe import batch

LARGE = 700_000
"""One record to a segment: two of them do not fit into one, and none is made of two."""
AHEAD_MS = 1_800_000
"""Apache Kafka takes the time of its file for that of a segment without records: what is asked for by time is later,
see docs/finding-time-after-deletion.md. Half of what message.timestamp.after.max.ms allows."""
LAYOUTS = {
    "at the beginning": [b"k"] * 6 + [b"end"],
    "in the middle": [b"a", *[b"k"] * 6, b"b", b"end"],
    "on both sides of one that stays": [*[b"l"] * 4, b"a", *[b"k", b"l"] * 3, b"end"],
}


@case(
    "compaction/large-segments-emptied",
    guarantees=["comp-007", "comp-001", "fetch-013"],
    needs=["topic-settings", "compaction"],
    apis={"ListOffsets": 1},
    detects=["B344"],
)
def a_reader_passes_as_many_as_there_are(wire, topic_of, rng):
    """Where cleaning has left nothing of several segments, one behind the other, a reader that begins in any of them
    MUST be given what is left behind them all, and the log MUST begin and end where it did.

    Segments of one mebibyte with one record each, which stay apart; emptied at the beginning, in the middle, and on
    both sides of one that stays.
    """
    for where, keys in LAYOUTS.items():
        with wire.part(where):
            _one_log(wire, topic_of, rng, keys)


def _one_log(wire, topic_of, rng, keys):
    topic = cleanable(wire, topic_of, **{"segment.bytes": str(SEGMENT), "segment.ms": str(100 * HOUR_MS)})
    start = wire.now_ms() + AHEAD_MS
    for number, key in enumerate(keys):
        wire.produce(topic, batch(rng.randbytes(LARGE), key=key, timestamp=start + number)).must_be_at(number)
    left = [cleaned(wire, topic, key) for key in sorted({*keys}) if keys.count(key) > 1][-1]
    must_be_read_from_everywhere(wire, topic, left, keys)
