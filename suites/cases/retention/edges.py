"""Where retention must stop, and where it must begin."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import all_in_sync, frozen, placed, replicated, roles, thawed
from brokertrial.suites.cases.retention.limits import CHECKS, HOUR_MS, SEGMENTS, WITHIN_S
from brokertrial.suites.probe import batch
from brokertrial.wire import errors

DUE = {**SEGMENTS, "retention.ms": str(4 * HOUR_MS), "min.insync.replicas": "1"}


@case("retention/oldest-first", guarantees=["ret-004", "ret-003"], needs=["topic-settings"], detects=["M35b"])
def what_goes_is_the_beginning(wire, topic_of):
    """Whatever retention deletes MUST be the beginning of the log: a reader finds each offset, or is refused with
    OFFSET_OUT_OF_RANGE (1), and never finds a hole.

    Ten segments, of which five fit, are read from the first offset on until the log start has risen.
    """
    wire.needs_setting(CHECKS, at_most=5_000)
    made = batch("x" * 10_000, timestamp=wire.now_ms())
    topic = topic_of(configs={**SEGMENTS, "retention.ms": "-1", "retention.bytes": str(5 * len(made))})
    now = wire.now_ms()
    for number in range(10):
        wire.produce(topic, batch("x" * 10_000, timestamp=now - (10 - number) * HOUR_MS)).must_succeed()
    wire.until(lambda: start_of_whole(wire, topic, 10) >= 4, within=WITHIN_S, what="the log start rose")


@case(
    "retention/nothing-unreplicated",
    guarantee="ret-006",
    needs=["three-nodes", "leaders", "pause", "topic-settings"],
    apis={"CreateTopics": 0},
    detects=["M35c"],
)
def what_is_not_replicated_is_not_deleted(wire, nodes):
    """Retention MUST NOT pass the high watermark, however old the records behind it are.

    Both followers are paused while old records are written; those of another topic, which the leader has alone, are
    deleted meanwhile and show that retention has looked.
    """
    wire.needs_setting(CHECKS, at_most=5_000)
    topic = replicated(wire, **{**DUE, "min.insync.replicas": "2"})
    all_in_sync(wire, topic)
    leader, followers = roles(wire, topic)
    other = placed(wire, "due", [leader], **DUE)
    old = wire.now_ms() - 9 * HOUR_MS
    wire.produce(topic, batch(at=[old]), to=leader).must_be_at(0)
    wire.produce(other, batch(at=[old]), to=leader).must_be_at(0)
    frozen(nodes, followers)
    for number in range(1, 5):
        wire.produce(topic, batch(at=[old + number * HOUR_MS // 2]), acks=1, to=leader).must_be_at(number)
    wire.produce(other, batch(at=[old + HOUR_MS]), acks=1, to=leader).must_be_at(1)
    wire.until(lambda: wire.log_start(other) >= 2, within=WITHIN_S, what="what is due in another topic is deleted")

    start = wire.log_start(topic)
    end = wire.fetch(topic, offset=start, to=leader).high_watermark
    wire.must(start <= end, f"the log start is {start} and the high watermark {end}: what follows was never replicated")
    thawed(wire, nodes, topic, followers)
    wire.until(lambda: wire.log_start(topic) >= 5, within=WITHIN_S, what="what is replicated now is deleted")


def start_of_whole(wire, topic, end):
    """Reads from offset 0 to the end; the offset at which it could begin."""
    position = begin = 0
    while position < end:
        answer = wire.fetch(topic, offset=position)
        if answer.error == errors.OFFSET_OUT_OF_RANGE:
            begin = position = wire.log_start(topic)
            continue
        parts = answer.must(bool(answer.batches), f"nothing is read at offset {position} of {end}").batches
        first = parts[0].header.base_offset
        answer.must(first == position, f"offset {position} is gone without a word: the next batch begins at {first}")
        position = parts[-1].header.last_offset + 1
    return begin
