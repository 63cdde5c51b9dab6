"""Compaction of keys that hashes of 32 bits do not tell apart."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.compaction.survivors import HOUR_MS, cleanable, cleaned
from brokertrial.suites.probe import batch
from brokertrial.wire.records import Record

PAIRS = {
    "CRC-32": ("albqglmsy", "yetwbnrpj"),
    "CRC-32C": ("user-0263968", "user-3112552"),
    "Adler-32": ("user-7593079", "user-7654558"),
    "murmur2": ("user-2110123", "user-1553187"),
    "FNV-1a": ("user-5343546", "user-2867887"),
    "Java's String.hashCode": ("user-Aa", "user-BB"),
    "djb2": ("user-ab", "user-bA"),
}
PARTS = {
    "one ends with a zero byte": (b"zero", b"zero\0"),
    "one is empty": (b"", b"\0"),
    "capital letters": (b"case", b"CASE"),
    "the first 255 bytes are alike": (b"x" * 255 + b"1", b"x" * 255 + b"2"),
}
OTHER = b"k0"


@case(
    "compaction/keys-with-equal-hashes",
    guarantees=["comp-001", "comp-003"],
    needs=["topic-settings", "compaction"],
    detects=["B301"],
)
def keys_are_told_apart_by_all_their_bytes(wire, topic_of, rng):
    """Keys MUST be told apart by all of their bytes: the latest value of each MUST stay, though a later one has the
    same hash, or begins alike, and a tombstone of one MUST delete nothing of the other.

    Pairs of keys with equal CRC-32, CRC-32C, Adler-32, murmur2, FNV-1a, djb2 and String.hashCode, and pairs that are
    almost alike; one of each pair is written first, by draw, and the second is written or deleted.
    """
    topic = cleanable(wire, topic_of)
    pairs = {what: (one.encode(), two.encode()) for what, (one, two) in PAIRS.items()} | PARTS
    first, second = [], []
    for what, pair in pairs.items():
        one, two = rng.sample(pair, 2)
        first.append((what, one))
        second.append((two, rng.choice((None, b"second"))))
    rows = [(OTHER, b"1"), *((key, b"first") for _, key in first), *second, (OTHER, b"2")]
    time = wire.now_ms() - 20 * HOUR_MS
    for hour, (key, value) in enumerate([*rows, (b"end", b"1")]):
        made = batch(records=[Record(key, value, (), time + hour * HOUR_MS // 4)])
        wire.produce(topic, made).must_be_at(hour)
    left = cleaned(wire, topic, OTHER)
    found = {record.key: record.value for record in left.records}
    for what, key in first:
        left.must(found.get(key) == b"first", f"{what}: the value of one of two keys, at another offset, is gone")
    lost = [key for key, value in second if value and found.get(key) != value]
    left.must(not lost, f"the values of {len(lost)} keys that were written last are gone")
