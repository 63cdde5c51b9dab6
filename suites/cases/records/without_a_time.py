"""Records that state no time (-1), in topics that bound the times of records (KIP-32, KIP-937)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.records import Record

HOUR, NO_TIME = 3_600_000, -1
BEFORE, AFTER = "message.timestamp.before.max.ms", "message.timestamp.after.max.ms"
CODECS = ("none", "gzip", "lz4")


@case(
    "records/without-a-time",
    guarantees=["rec-004", "rec-003"],
    needs=["topic-settings"],
    since="3.6 (KIP-937)",
    detects=["B342"],
)
def a_record_without_a_time_is_in_no_bounds(wire, topic_of, rng):
    """A record whose time is -1 states none: it MUST be taken whatever bounds its topic sets, and be read with that
    time, also beside records that state one. With LogAppendTime it MUST be given the time of the append.

    One bound and the other, and both; compressed and not, whole batches and single records of them.
    """
    now = wire.now_ms()
    for bounds in ({BEFORE: str(HOUR)}, {AFTER: str(HOUR)}, {BEFORE: str(HOUR), AFTER: str(HOUR)}):
        topic = topic_of(configs={**bounds, "message.timestamp.type": "CreateTime"})
        offset = 0
        for codec in CODECS:
            for times in ([NO_TIME], [NO_TIME] * 3, rng.sample([NO_TIME, now, now - HOUR // 2], 3)):
                sent = _sent(wire, topic, codec, times)
                sent.must(sent.error != errors.INVALID_TIMESTAMP, f"records of the times {times} are refused for these")
                sent.must_be_at(offset)
                offset += len(times)
            if BEFORE in bounds:
                _sent(wire, topic, codec, [NO_TIME, now - 2 * HOUR]).must_be_refused(errors.INVALID_TIMESTAMP)
        log = wire.read_all(topic).must_have_offsets(range(offset))
        allowed = {NO_TIME, now, now - HOUR // 2}
        found = {record.timestamp for record in log.records}
        log.must(found == allowed, f"the records have the times {sorted(found)}; they must have {sorted(allowed)}")
    appended = topic_of(configs={BEFORE: str(HOUR), AFTER: str(HOUR), "message.timestamp.type": "LogAppendTime"})
    _sent(wire, appended, rng.choice(CODECS), [NO_TIME] * 2).must_be_at(0)
    log = wire.read_all(appended).must_have_offsets(range(2))
    log.must(
        all(record.timestamp > now - HOUR for record in log.records), "the records have not the time of the append"
    )


def _sent(wire, topic, codec, times):
    records = [Record(None, b"v", timestamp=time) for time in times]
    return wire.produce(topic, batch(records=records, compression=codec, timestamp=NO_TIME))
