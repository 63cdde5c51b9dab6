"""Compressed batches whose records carry other offsets than one after the other."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.records import Record

CODECS = ("gzip", "snappy", "lz4", "zstd")
REFUSED = (errors.INVALID_RECORD, errors.CORRUPT_MESSAGE, errors.UNKNOWN_SERVER_ERROR)
MOST = 5


@case("records/offsets-within-a-batch", guarantees=["rec-007", "prod-001"], needs=["topic-settings"], detects=["Y44"])
def each_record_has_an_offset_of_its_own(wire, topic_of, rng):
    """A compressed batch whose records are not numbered from 0 on, one after the other, MUST be refused, or its records
    be given the offsets in which they come; what is written after it begins behind it.

    Numbers that come twice, fall, begin late or leave a gap, with a last offset and a count that agree; in the codec
    that the topic keeps and in one that the broker turns into another. A broker must look into a compressed batch to
    see them.
    """
    for kept in ("producer", rng.choice(CODECS)):
        topic = topic_of(configs={"compression.type": kept})
        written: list[str] = []
        for deltas in _wrong(rng):
            values = [f"{len(written)}.{number}" for number in range(len(deltas))]
            records = [Record(None, value.encode(), (), wire.now_ms()) for value in values]
            last, codec = len(deltas) - 1, rng.choice(CODECS)
            made = batch(records=records, compression=codec, offset_deltas=deltas, last_offset_delta=last)
            answer = wire.produce(topic, made)
            if answer.error:
                answer.must_be_refused(*REFUSED)
            else:
                answer.must_be_at(len(written))
                written += values
            wire.produce(topic, batch("next", compression=codec)).must_be_at(len(written))
            written.append("next")
            read = wire.read_all(topic)
            with wire.part(f"a batch in {codec} whose records say {deltas}, where the topic keeps {kept}"):
                read.must_have_offsets(range(len(written))).must_hold(*written)


def _wrong(rng):
    """One of each kind, and some that are drawn."""
    count = rng.randint(3, MOST)
    right = list(range(count))
    drawn = [[rng.randint(0, MOST) for _ in right] for _ in range(3)]
    kinds = [
        [*right[:-2], count - 3, count - 1],
        [*right[:-2], count - 1, count - 2],
        [0] * count,
        right[::-1],
        [each + 1 for each in right],
        [*right[:-1], count + 4],
    ]
    return [deltas for deltas in (*kinds, *drawn) if deltas != right]
