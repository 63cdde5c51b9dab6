"""Topics that have a limit of time and one of size: whichever asks for more decides."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.retention.limits import CHECKS, HOUR_MS, SEGMENTS, WITHIN_S, wait_for_a_check
from brokertrial.suites.probe import batch

BATCHES = 14
SHAPES = (
    ("size", 4, 9),
    ("time", 9, 4),
    ("both", 6, 6),
    ("time alone", BATCHES + 5, 5),
    ("size alone", 5, BATCHES + 5),
)
"""What decides, and of how many of the newest batches the limits of size and of time are."""


@case(
    "retention/both-limits",
    guarantees=["ret-001", "ret-002", "ret-003"],
    needs=["topic-settings"],
    detects=["Z17", "M35d"],
)
def the_stricter_limit_decides(wire, topic_of, rng):
    """With retention.bytes and retention.ms, records MUST go that are beyond either of them, from the oldest on, and no
    others.

    Five topics of fourteen segments of drawn sizes, an hour apart: the limit of size is stricter, that of time, or
    neither, and in two topics one of both is never reached.
    """
    wire.needs_setting(CHECKS, at_most=5_000)
    logs = [_filled(wire, topic_of, rng, *shape) for shape in SHAPES]
    wire.until(
        lambda: all(wire.log_start(topic) >= start for topic, start in logs),
        within=WITHIN_S,
        what=f"the logs begin at {[start for _, start in logs]}, where both limits are kept",
    )
    wait_for_a_check(wire, topic_of)
    for topic, start in logs:
        wire.list_offsets(topic, at="earliest").must_name(offset=start)
        wire.read_all(topic).must_have_offsets(range(start, BATCHES))


def _filled(wire, topic_of, rng, what, by_size, by_time):
    """A topic with a batch in each segment, and where its log must begin."""
    now = wire.now_ms()
    times = [now - (BATCHES - number) * HOUR_MS for number in range(BATCHES)]
    made = [batch("x" * rng.randint(500, 5_000), timestamp=time) for time in times]
    limit, age = sum(map(len, made[-by_size:])), by_time * HOUR_MS + HOUR_MS // 2
    if by_size > BATCHES:
        limit += 100_000
    configs = {**SEGMENTS, "retention.bytes": str(limit), "retention.ms": str(age)}
    topic = topic_of(what=what.replace(" ", "-"), configs=configs)
    for pending in [wire.produce(topic, each, wait=False) for each in made]:
        pending.must_succeed()
    return topic, max(BATCHES - by_size, BATCHES - by_time, 0)
