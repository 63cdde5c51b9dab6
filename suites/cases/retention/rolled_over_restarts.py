"""Segments that end by the time of their records, written to before and after their node was started again."""

from itertools import pairwise

from brokertrial.suites.case import case
from brokertrial.suites.cases.retention.limits import CHECKS, HOUR_MS, WITHIN_S, wait_for_a_check
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import SET, TOPIC

SEGMENT_HOURS = 6
STARTS = 5
BATCHES = 18


class Rolled:
    """A segment: where it begins, and the hours of its first record and of its last."""

    def __init__(self, base, hour):
        self.base, self.first, self.last = base, hour, hour


@case(
    "retention/segments-go-on-over-restarts",
    guarantees=["ret-001", "ret-003", "ret-004"],
    apis={"IncrementalAlterConfigs": 0},
    needs=["topic-settings", "kill", "terminate", "restart"],
    detects=["B66"],
)
def a_segment_ends_as_if_its_node_had_not_been_started_again(wire, topic_of, nodes, rng):
    """A segment MUST end at the first record that is more than segment.ms younger than its own first one, also where
    its node was stopped cleanly or killed in between: what is older than retention.ms MUST be deleted then, though a
    young record came since, and nothing else.

    18 records in drawn steps of one to five hours, segments of six, five starts at drawn places, one of them after a
    kill. Then a limit just behind the last record of each segment.
    """
    wire.needs_setting(CHECKS, at_most=5_000)
    topic = topic_of(configs={"segment.ms": str(SEGMENT_HOURS * HOUR_MS), "retention.ms": "-1"})
    began = wire.now_ms() - 6 * BATCHES * HOUR_MS
    segments = _written(wire, topic, nodes, rng, began)
    for gone, first in pairwise(segments):
        newest_that_goes = began + gone.last * HOUR_MS
        age = wire.now_ms() - newest_that_goes - HOUR_MS // 2
        wire.change_configs(TOPIC, topic, [("retention.ms", SET, str(age))]).must_succeed()
        _must_begin(wire, topic_of, topic, first.base)


def _written(wire, topic, nodes, rng, began):
    """Its segments. In some of those that are written to on both sides of a start the first record decides."""
    segments, hour = [], 0  # type: ignore[var-annotated]
    places = rng.sample(range(1, BATCHES), STARTS)
    for offset in range(BATCHES):
        if offset in places:
            (nodes.crash if offset == places[0] else nodes.stop_and_start)(nodes.of(topic))
            wire.await_topic(topic)
        hour += rng.randint(1, 5)
        wire.produce(topic, batch(at=[began + hour * HOUR_MS])).must_be_at(offset)
        if not segments or hour - segments[-1].first > SEGMENT_HOURS:
            segments.append(Rolled(offset, hour))
        segments[-1].last = hour
    return segments


def _must_begin(wire, topic_of, topic, start):
    wire.until(
        lambda: wire.log_start(topic) >= start,
        within=WITHIN_S,
        what=f"the log begins at {start}: all that is older than retention.ms lies in segments of its own",
    )
    wait_for_a_check(wire, topic_of)
    wire.list_offsets(topic, at="earliest").must_name(offset=start)
    wire.read_all(topic).must_have_offsets(range(start, BATCHES))
