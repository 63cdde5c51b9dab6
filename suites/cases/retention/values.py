"""Retention by the values at the edges: nothing may stay, all may stay, a record has no time, or one to come."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.retention.limits import CHECKS, HOUR_MS, SEGMENTS, WITHIN_S, wait_for_a_check
from brokertrial.suites.probe import batch

NO_TIME = -1
LIMITS_MS = (-1, 0, 1, 4 * HOUR_MS)
SHORT_MS = 15_000


@case(
    "retention/edges-of-its-values",
    guarantees=["ret-001", "ret-003", "ret-009"],
    needs=["topic-settings"],
    detects=["E08", "E09"],
)
def each_value_counts_as_what_it_is(wire, topic_of, rng):
    """With retention.ms=0 all records that are not of this moment MUST be deleted, with -1 none, and with a limit those
    that are older: records without a timestamp are as old as their segment, and stay where that is younger than the
    limit.

    For each limit a topic of old records, one of records without a time, and one of records of an hour to come, in
    drawn numbers; another topic, whose records are due, shows that retention has looked.
    """
    wire.needs_setting(CHECKS, at_most=5_000)
    now = wire.now_ms()
    stays: list[tuple[str, int]] = []
    goes: list[tuple[str, int]] = []
    for number, limit in enumerate(LIMITS_MS):
        configs = {**SEGMENTS, "retention.ms": str(limit), "message.timestamp.after.max.ms": str(9 * HOUR_MS)}
        for name, time in (("old", now - 9 * HOUR_MS), ("none", NO_TIME), ("ahead", now + HOUR_MS)):
            topic, count = topic_of(what=f"{name}{number}", configs=configs), rng.randint(1, 4)
            for _ in range(count):
                wire.produce(topic, batch(at=[time])).must_succeed()
            kept = limit < 0 or name == "ahead" or (name == "none" and limit > 1)
            (stays if kept else goes).append((topic, count))
    wire.until(
        lambda: all(wire.log_start(topic) == count for topic, count in goes),
        within=WITHIN_S,
        what="the records that are due are deleted",
    )
    wait_for_a_check(wire, topic_of)
    for topic, count in stays:
        wire.list_offsets(topic, at="earliest").must_name(offset=0)
        wire.read_all(topic).must_have_offsets(range(count))


@case(
    "retention/without-a-time-over-a-restart",
    guarantees=["ret-001", "ret-009"],
    needs=["topic-settings", "partitions", "terminate", "restart"],
    detects=["D87"],
)
def what_has_no_time_goes_after_a_restart_too(wire, topic_of, nodes, rng):
    """Records without a timestamp, which are as old as their segment, MUST be deleted after retention.ms although the
    node was stopped and started meanwhile, and MUST stay where they are younger than that.
    """
    wire.needs_setting(CHECKS, at_most=5_000)
    goes, stays = (
        topic_of(what=name, configs={**SEGMENTS, "retention.ms": str(limit)})
        for name, limit in (("goes", SHORT_MS), ("stays", 4 * HOUR_MS))
    )
    count = rng.randint(1, 4)
    for topic in (goes, stays):
        for _ in range(count):
            wire.produce(topic, batch(at=[NO_TIME])).must_succeed()
    nodes.stop_and_start(nodes.of(goes))
    for topic in (goes, stays):
        wire.await_topic(topic)
    wire.until(lambda: wire.log_start(goes) == count, within=WITHIN_S, what="the records that are due are deleted")
    wire.list_offsets(stays, at="earliest").must_name(offset=0)
    wire.read_all(stays).must_have_offsets(range(count))
