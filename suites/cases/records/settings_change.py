"""Settings of a topic that change between its batches: each batch keeps what it was stored with (KIP-32, 110)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import DELETE, SET, TOPIC
from brokertrial.wire import errors

CHANGE = {"IncrementalAlterConfigs": 0, "InitProducerId": 0}


@case(
    "records/codec-changes-between-batches",
    guarantees=["prod-012", "idem-002", "adm-010"],
    level="should",
    apis=CHANGE,
    needs=["topic-settings"],
    detects=["P51"],
)
def each_batch_keeps_the_codec_it_was_stored_with(wire, topic):
    """When a topic's compression.type changes, existing batches SHOULD keep their codec, later ones have the new one,
    and an idempotent batch that is sent again is a duplicate whatever its stored codec.
    """
    producer, sent = wire.producer(), []  # type: ignore[var-annotated]
    stored: list[str] = []
    for codec in ("gzip", "uncompressed", "zstd", None):
        change = ("compression.type", SET, codec) if codec else ("compression.type", DELETE, None)
        wire.change_configs(TOPIC, topic, [change]).must_succeed()
        wanted = {"uncompressed": "none", None: "lz4"}.get(codec, codec)
        wire.eventually(lambda wanted=wanted, stored=stored: _stores(wire, topic, stored, wanted), within=10)
        sent.append((producer.batch(f"{codec}", "x" * 200, sequence=2 * len(sent), compression="lz4"), len(stored)))
        wire.produce(topic, sent[-1][0]).must_be_at(len(stored))
        stored += [wanted] * 2  # type: ignore[list-item]
        for made, offset in sent:
            wire.produce(topic, made).must_be_at(offset)
    log = wire.read_all(topic)
    log.must_have_offsets(range(len(stored)))
    found = [part.header.compression for part in log.batches for _ in range(part.header.record_count)]
    log.must(found == stored, f"the codecs are {found}; they should be {stored}")


def _stores(wire, topic, stored, wanted):
    """A batch in lz4 is stored in this codec by now."""
    answer = wire.produce(topic, batch("probe", compression="lz4"))
    offset = answer.offset
    found = wire.fetch(topic, offset=offset)
    codec = found.batches[0].header.compression
    stored.append(codec)
    return found.must(codec == wanted, f"the codec is {codec}; it should be {wanted}")


@case(
    "records/time-type-changes-between-batches",
    guarantees=["rec-002", "rec-003", "offs-002"],
    apis={"IncrementalAlterConfigs": 0, "ListOffsets": 1},
    needs=["topic-settings"],
    detects=["M39e"],
)
def each_batch_keeps_the_time_it_was_stored_with(wire, topic):
    """When a topic's message.timestamp.type changes, existing batches MUST keep their times and their timestamp type,
    later ones have the new type, and a query by time finds each by its own time.
    """
    day = 86_400_000
    begin = wire.now_ms() - 2 * day
    kinds = ("CreateTime", "LogAppendTime", "CreateTime")
    times = []  # type: ignore[var-annotated]
    for turn, kind in enumerate(kinds):
        wire.change_configs(TOPIC, topic, [("message.timestamp.type", SET, kind)]).must_succeed()
        wire.eventually(
            lambda kind=kind, at=begin + turn * 1_000, times=times: _dates(wire, topic, times, kind, at), within=10
        )
        answer = wire.produce(topic, batch(at=[begin + turn * 1_000 + 1, begin + turn * 1_000 + 2]))
        appended = answer.log_append_time
        own = [begin + turn * 1_000 + 1, begin + turn * 1_000 + 2]
        times += own if kind == "CreateTime" else [appended, appended]
    log = wire.read_all(topic)
    found = [record.timestamp for record in log.records]
    log.must(found == times, f"the times are {found}; they must be {times}")
    for moment in sorted({*times, begin - 1, max(times) + 1}):
        first = next((offset for offset, time in enumerate(times) if time >= moment), -1)
        with wire.part(f"{moment - begin} ms"):
            wire.list_offsets(topic, at=moment).must_name(offset=first, timestamp=times[first] if first >= 0 else -1)


def _dates(wire, topic, times, kind, at):
    """A batch is given times of this kind by now; what was tried before stays in the log."""
    answer = wire.produce(topic, batch(at=[at]))
    appended = answer.log_append_time
    times.append(at if appended < 0 else appended)
    is_appended = appended >= 0
    return answer.must(is_appended == (kind == "LogAppendTime"), f"with {kind} log_append_time is {appended}")


@case(
    "records/limits-change-between-batches",
    guarantees=["rec-004", "prod-006", "adm-010"],
    apis={"IncrementalAlterConfigs": 0},
    needs=["topic-settings"],
    detects=["M40a"],
)
def limits_hold_for_what_comes_after_them(wire, topic):
    """When a topic's limits on time and size become narrower, existing records MUST stay readable and new ones MUST be
    checked against them; when the limits are removed, such records MUST be accepted again.
    """
    old, hour = wire.now_ms() - 5 * 3_600_000, 3_600_000
    wire.produce(topic, batch(at=[old])).must_be_at(0)
    wire.produce(topic, batch("x" * 3_000)).must_be_at(1)
    name, size = "message.timestamp.before.max.ms", "max.message.bytes"
    known = wire.configs_of_topic(topic)
    if name not in known:
        wire.not_applicable(f"the broker has no {name}", "unsupported")
    wire.change_configs(TOPIC, topic, [(name, SET, str(hour)), (size, SET, "1000")]).must_succeed()
    wire.eventually(lambda: wire.produce(topic, batch(at=[old])).must_be_refused(errors.INVALID_TIMESTAMP), within=10)
    wire.produce(topic, batch("x" * 3_000)).must_be_refused(errors.MESSAGE_TOO_LARGE)
    end = wire.log_end(topic)
    wire.produce(topic, batch("small")).must_be_at(end)
    log = wire.read_all(topic)
    log.must(log.values[1] == b"x" * 3_000, "the large record is not what was sent")
    log.must_have_offsets(range(end + 1))
    wire.change_configs(TOPIC, topic, [(name, DELETE, None), (size, DELETE, None)]).must_succeed()
    wire.eventually(lambda: wire.produce(topic, batch("x" * 3_000)).must_succeed(), within=10)
    wire.eventually(lambda: wire.produce(topic, batch(at=[old])).must_succeed(), within=10)
