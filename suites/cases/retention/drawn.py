"""Retention of records whose times are drawn: late ones behind young ones and the other way about, in one segment."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.retention.limits import CHECKS, HOUR_MS, WITHIN_S, wait_for_a_check
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import SET, TOPIC

APIS = {"IncrementalAlterConfigs": 0}
PARTITIONS = 3
BATCHES = 20
SEGMENT_MS = 5 * HOUR_MS
STEP_MS = 2 * HOUR_MS
"""Between the newest times of two batches: a segment, which begins anew after five hours, holds several."""


class DatedSegment:
    """Where it begins, and of the newest times of its batches the first, the last, and the newest."""

    def __init__(self, base, time):
        self.base, self.first, self.last, self.newest = base, time, time, time


@case(
    "retention/late-records",
    guarantees=["ret-001", "ret-003", "ret-004"],
    apis=APIS,
    needs=["topic-settings", "partitions"],
    detects=["U03"],
)
def a_segment_is_as_old_as_its_newest_record(wire, topic_of, rng):
    """Whatever the order of their times, records MUST stay while a record of their segment is younger than
    retention.ms, and MUST go when none is and nothing before them stays.

    Three partitions of drawn batches, in steps of two hours, forth and back. The limit is an hour short of a segment's
    newest record, then an hour past it.
    """
    _follow(wire, topic_of, rng, lambda topic: None, lambda topic: None)


@case(
    "retention/late-records-over-restarts",
    guarantees=["ret-001", "ret-003", "ret-004"],
    apis=APIS,
    needs=["topic-settings", "partitions", "kill", "terminate", "restart"],
    detects=["U04"],
)
def a_segment_is_as_old_as_it_was_before(wire, topic_of, rng, nodes):
    """Whatever the order of their times, records MUST stay while a record of their segment is younger than
    retention.ms, and MUST be deleted when none is and nothing before them stays, also where the leader was stopped
    cleanly before the first limit is in force, and was killed before the second.
    """

    def stopped(topic):
        nodes.stop_and_start(nodes.of(topic))
        wire.await_topic(topic)

    def killed(topic):
        nodes.crash(nodes.of(topic))
        wire.await_topic(topic)

    _follow(wire, topic_of, rng, stopped, killed)


def _follow(wire, topic_of, rng, before, between):
    wire.needs_setting(CHECKS, at_most=5_000)
    topic = topic_of(partitions=PARTITIONS, configs={"segment.ms": str(SEGMENT_MS), "retention.ms": "-1"})
    began = wire.now_ms() - (BATCHES + 4) * STEP_MS
    logs = [_written(wire, topic, rng, partition, began) for partition in range(PARTITIONS)]
    edge = rng.choice([one for one in logs[0][0] if one.newest > max(one.first, one.last)])
    for act, limit in ((before, edge.newest - HOUR_MS), (between, edge.newest + HOUR_MS)):
        act(topic)
        age = str(wire.now_ms() - limit)
        wire.change_configs(TOPIC, topic, [("retention.ms", SET, age)]).must_succeed()
        _must_begin(wire, topic_of, topic, logs, limit)


def _written(wire, topic, rng, partition, clock):
    """Its segments and its end. The first one has its newest record amid older ones."""
    segments: list[DatedSegment] = []
    end = 0
    for number in range(BATCHES):
        newest = clock
        if number in (1, 3) or (number > 3 and rng.random() < 0.5):
            newest = clock = clock + (2 * STEP_MS if number == 3 else STEP_MS)
        elif number == 2 or (number and rng.random() < 0.7):
            newest = clock - rng.randint(1, 5) * STEP_MS
        times = [newest, *(newest - rng.randint(1, 9) * HOUR_MS for _ in range(rng.randint(0, 2)))]
        rng.shuffle(times)
        wire.produce(topic, batch(at=times), partition).must_be_at(end)
        if not segments or newest - segments[-1].first > SEGMENT_MS:
            segments.append(DatedSegment(end, newest))
        segments[-1].last, segments[-1].newest = newest, max(segments[-1].newest, newest)
        end += len(times)
    return segments, end


def _must_begin(wire, topic_of, topic, logs, limit):
    """Each log begins at the first segment that has a record younger than the limit, also after another check."""
    starts = [next((one.base for one in segments if one.newest >= limit), end) for segments, end in logs]
    wire.until(
        lambda: all(wire.log_start(topic, number) >= start for number, start in enumerate(starts)),
        within=WITHIN_S,
        what=f"the logs begin at {starts}, where the first record that is young enough lies",
    )
    wait_for_a_check(wire, topic_of)
    for number, start in enumerate(starts):
        wire.list_offsets(topic, number, at="earliest").must_name(offset=start)
        wire.read_all(topic, number).must_have_offsets(range(start, logs[number][1]))


@case(
    "retention/drawn-sizes",
    guarantees=["ret-002", "ret-003"],
    needs=["partitions", "topic-settings"],
    detects=["E07"],
)
def a_partition_keeps_the_least_that_its_limit_allows(wire, topic_of, rng):
    """A partition MUST lose its oldest segments as long as at least retention.bytes stay without the oldest one, and
    MUST NOT lose another.

    Three topics of segments of drawn sizes; the limits are what a drawn number of the newest segments holds, a byte
    more, and a byte less.
    """
    wire.needs_setting(CHECKS, at_most=5_000)
    limited = [_filled(wire, topic_of, rng, more) for more in (-1, 0, 1)]
    wire.until(
        lambda: all(wire.log_start(topic) >= start for topic, start, _ in limited),
        within=WITHIN_S,
        what="the log starts rose to fit retention.bytes",
    )
    wait_for_a_check(wire, topic_of)
    for topic, start, end in limited:
        wire.list_offsets(topic, at="earliest").must_name(offset=start)
        wire.read_all(topic).must_have_offsets(range(start, end))


def _filled(wire, topic_of, rng, more):
    """A topic with a segment for each batch, its limit, and where its log must begin and end."""
    now = wire.now_ms()
    times = [now - (BATCHES - number) * HOUR_MS for number in range(BATCHES)]
    made = [batch("x" * rng.randint(1, 5_000), timestamp=time) for time in times]
    keep = rng.randint(4, BATCHES - 4)
    limit = sum(map(len, made[-keep:])) + more
    configs = {"segment.ms": "60000", "retention.ms": "-1", "retention.bytes": str(limit)}
    topic = topic_of(what=f"limit{more + 1}", configs=configs)
    for pending in [wire.produce(topic, each, wait=False) for each in made]:
        pending.must_succeed()
    start = max(number for number in range(BATCHES) if sum(map(len, made[number:])) >= limit)
    return topic, start, BATCHES
