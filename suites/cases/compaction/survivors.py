"""Compaction: what a cleaned log still holds, where, and that readers pass what it holds no more.

Records are dated an hour apart from batch to batch, so that each batch is a segment of its own and all but the last
may be cleaned.
"""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED, batch
from brokertrial.suites.probe.admin import SET, TOPIC
from brokertrial.wire import errors
from brokertrial.wire.records import Record

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
WITHIN_S = 60
NEVER_S = 120
SOON_S = 10
COMPACT = {
    "cleanup.policy": "compact",
    "segment.ms": "60000",
    "min.cleanable.dirty.ratio": "0.001",
    "min.compaction.lag.ms": "0",
    "delete.retention.ms": "0",
}
RECORDS = "responses[].partitions[].records"


@case(
    "compaction/latest-of-every-key",
    guarantees=["comp-001", "comp-002", "comp-006"],
    needs=["topic-settings", "compaction"],
    smoke=True,
    detects=[
        edit_answer(f"{RECORDS}[0].records[0].timestamp", add=1, api="Fetch", fields={"isolation_level": 0}),
        "M36a",
    ],
)
def the_latest_record_of_every_key_stays_as_it_was(wire, topic_of):
    """After cleaning, the latest record of every key MUST be there, and what is left MUST be as it was before.

    Offsets and order, times, headers, bytes and codec: three keys, overwritten in four batches, read before and after.
    Nothing is transactional, so both isolation levels show the same: read_committed before, read_uncommitted after.
    """
    topic, rounds = cleanable(wire, topic_of), 4
    write(wire, topic, rounds, headers=((b"h", b"\x00\xff"), (b"h", None)), compression="gzip")
    before = {
        (record.offset, record.key): facts(record) for record in wire.read_all(topic, isolation=COMMITTED).records
    }
    left = cleaned(wire, topic)

    for record in left.records:
        known = before.get((record.offset, record.key))
        left.must(known == facts(record), f"offset {record.offset} holds {facts(record)}; it was {known}")
    left.must(left.offsets == sorted(left.offsets), f"the offsets are {left.offsets}; cleaning must keep the order")
    for latest, key in enumerate((b"k0", b"k1", b"k2", b"end"), start=3 * (rounds - 1)):
        left.must(latest in left.offsets, f"the latest record of {key!r}, at offset {latest}, is gone")
    codecs = {part.header.compression for part in left.batches if part.header.record_count}
    left.must(codecs == {"gzip"}, f"the batches are compressed with {codecs}; it was gzip")


@case(
    "compaction/cleaned-at-all",
    guarantees=["comp-001", "comp-009"],
    level="must",
    needs=["topic-settings", "compaction", "started"],
    detects=["M36k", "Y40"],
)
def a_dirty_log_is_cleaned(wire, topic_of, rng):
    """A log that is to be compacted and is dirty for longer than max.compaction.lag.ms MUST be cleaned, however many
    segments it has and whether two of them fit into one.

    All but the newest of its segments may go, for a day already, and the broker says that its cleaner looks every few
    seconds; it has 120 s and nothing else to clean, for it is one that the suite started. On a cluster with other logs
    to clean a cleaner may be late: there nothing is decided. One log of four small segments, one of one, one of three
    that are nearly full.
    """
    late = {"max.compaction.lag.ms": "60000"}
    small, single = (cleanable(wire, topic_of, **late) for _ in range(2))
    large = cleanable(wire, topic_of, **late, **{"segment.bytes": "1048576", "segment.ms": str(10 * DAY_MS)})
    write(wire, small, 4)
    time = wire.now_ms() - DAY_MS
    three = [Record(b"k0", b"%d" % turn, (), time + turn) for turn in range(3)]
    wire.produce(single, batch(records=three)).must_be_at(0)
    wire.produce(single, batch("1", key=b"end", timestamp=time + HOUR_MS)).must_be_at(3)
    for number, key in enumerate((b"k0", b"a", b"k0", b"b", b"k0", b"c", b"end")):
        wire.produce(large, batch(rng.randbytes(400_000), key=key, timestamp=time + number)).must_be_at(number)
    for topic in (small, single, large):
        if not (log := awaited(wire, topic, b"k0", NEVER_S)):
            log = wire.read_all(topic)
            found = [record.key for record in log.records].count(b"k0")
            log.must(False, f"after {NEVER_S:.0f} s and more nothing was cleaned: the key k0 still has {found} records")


@case(
    "compaction/readers-pass-the-holes",
    guarantees=["fetch-013", "comp-002"],
    needs=["topic-settings", "compaction"],
    detects=[edit_answer(RECORDS, set="", api="Fetch", fields={"max_wait_ms": 0})],
)
def readers_pass_what_was_cleaned_away(wire, topic_of):
    """A fetch inside a hole that cleaning left MUST give what comes next, so that no reader ever sticks."""
    topic = cleanable(wire, topic_of)
    write(wire, topic, 4)
    left = cleaned(wire, topic)
    end = wire.log_end(topic)

    for at, answer in [(at, wire.fetch(topic, offset=at, wait=False)) for at in range(end)]:
        ends = [part.header.last_offset for part in answer.batches]
        answer.must(max(ends, default=-1) >= at, f"a reader at {at} is given batches that end at {ends}", PART)
        due = [offset for offset in left.offsets if offset >= at]
        got = [offset for offset in answer.offsets if offset >= at]
        answer.must(got == due[: len(got)] and got, f"from {at} on come {got}; it must be {due}", PART)


@case(
    "compaction/tombstones",
    guarantee="comp-003",
    needs=["topic-settings", "compaction"],
    detects=[edit_answer(f"{RECORDS}[].records[0].value", cut=1, api="Fetch")],
)
def a_tombstone_deletes_and_stays_to_be_seen(wire, topic_of):
    """A record with a null value MUST remove the older values of its key, and MUST stay for delete.retention.ms.

    That is a day here: a reader that comes after the cleaning still learns of the deletion.
    """
    topic = cleanable(wire, topic_of, **{"delete.retention.ms": "86400000"})
    write(wire, topic, 3)
    now = wire.now_ms()
    wire.produce(topic, batch(records=[Record(b"k1", None, (), now - HOUR_MS)]))
    wire.produce(topic, batch(records=[Record(b"end", b"2", (), now)]))

    left = cleaned(wire, topic, key=b"k1")
    values = [record.value for record in left.records if record.key == b"k1"]
    left.must(values == [None], f"of k1 are left {values}; it must be the tombstone alone")


@case(
    "compaction/tombstones-go",
    guarantee="comp-003",
    level="should",
    needs=["topic-settings", "compaction"],
    detects=[edit_answer(f"{RECORDS}[0].records[0].key", set="k1", api="Fetch")],
)
def a_tombstone_goes_in_the_end(wire, topic_of):
    """Once delete.retention.ms is over a tombstone SHOULD go too.

    It is 0 here. Cleaning marks the tombstone at a first pass and removes it at a later one (KIP-534), which new
    records bring about.
    """
    topic = cleanable(wire, topic_of)
    write(wire, topic, 2)
    cleaned(wire, topic)
    now = wire.now_ms()
    wire.produce(topic, batch(records=[Record(b"k1", None, (), now - 20 * HOUR_MS)]))
    hours = iter(range(-19, 0))

    def gone():
        if (hour := next(hours, None)) is not None:
            wire.produce(topic, batch(records=[Record(b"k2", b"v", (), now + hour * HOUR_MS)]))
        return b"k1" not in [record.key for record in wire.read_all(topic).records]

    wire.until(gone, within=WITHIN_S, what="the tombstone of k1 is gone")


@case("compaction/no-key-no-entry", guarantee="comp-005", needs=["topic-settings"], detects=["M36d", "Z22"])
def a_record_without_a_key_is_refused(wire, topic_of):
    """A batch with a record without a key MUST be refused with INVALID_RECORD on a compacted topic, and be kept out.

    On compact,delete too, and where the topic is compacted since a moment ago or no more. An empty key is a key.
    """
    for policy in ("compact", "compact,delete"):
        topic = topic_of(configs={"cleanup.policy": policy})
        wire.produce(topic, batch(records=[Record(b"k", b"1"), Record(None, b"2")])).must_be_refused(
            errors.INVALID_RECORD
        )
        wire.list_offsets(topic, at="latest").must_name(offset=0)
        wire.produce(topic, batch("a", key=b"k")).must_be_at(0)
        wire.produce(topic, batch("b", key=b"")).must_be_at(1)
        if wire.versions("IncrementalAlterConfigs"):
            _follows_its_policy(wire, topic, policy)


def _follows_its_policy(wire, topic, policy):
    """Records without a key are taken while the topic is not compacted, and refused once it is."""
    without_key = batch("c")
    wire.change_configs(TOPIC, topic, [("cleanup.policy", SET, "delete")]).must_succeed()
    wire.eventually(lambda: wire.produce(topic, without_key).must_be_at(2), within=SOON_S)
    wire.change_configs(TOPIC, topic, [("cleanup.policy", SET, policy)]).must_succeed()
    wire.eventually(lambda: wire.produce(topic, without_key).must_be_refused(errors.INVALID_RECORD), within=SOON_S)


PART = "responses[0].partitions[0].records"


def cleanable(wire, topic_of, **settings):
    """A topic that is cleaned soon; on a cluster whose cleaner is off nothing ever is, and no case can decide."""
    if wire.setting("log.cleaner.enable") == "false":
        wire.not_applicable("log.cleaner.enable is false on this cluster: nothing is compacted", "cluster-setting")
    wire.needs_setting("log.cleaner.backoff.ms", at_most=5_000)
    return topic_of(configs={**COMPACT, **settings})


def write(wire, topic, rounds, headers=(), **settings):
    """k0, k1 and k2 overwritten so many times, an hour apart, then one more key in the last segment."""
    start = wire.now_ms() - 24 * HOUR_MS
    made = [
        batch(records=[Record(b"k%d" % n, b"%d" % turn, headers, start + turn * HOUR_MS) for n in range(3)], **settings)
        for turn in range(rounds)
    ]
    made.append(batch(records=[Record(b"end", b"1", headers, start + rounds * HOUR_MS)], **settings))
    for pending in [wire.produce(topic, part, wait=False) for part in made]:
        pending.must_succeed()


def cleaned(wire, topic, key=b"k0"):
    """What is left once a key has one record. Cleaning is lazy: a log that is never cleaned fails a case of its own."""
    log = awaited(wire, topic, key, WITHIN_S)
    never = f"nothing was cleaned within {WITHIN_S} s; compaction/cleaned-at-all decides whether that is a failure"
    return log or wire.not_applicable(never, "too-slow-here")


def awaited(wire, topic, key, within_s):
    """The log once a key has one record, read twice alike: the cleaner may go on while it is read.

    None when that does not come about in the time.
    """
    began, before = wire.now_ms(), None
    while wire.now_ms() < began + 1_000 * (within_s + wire.slack_s):
        log = wire.read_all(topic)
        if [record.key for record in log.records].count(key) <= 1:
            if log.offsets == before:
                return log
            before = log.offsets
            continue
        wire.fetch(topic, offset=wire.log_end(topic), max_wait_ms=500, min_bytes=1)
    return None


def facts(record):
    return record.key, record.value, record.headers, record.timestamp
